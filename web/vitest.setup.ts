// Runs before each test file that needs a DOM (see vite.config.ts) and works around faults of happy-dom.

import { configure } from "@testing-library/dom";

configure({ asyncUtilTimeout: 15_000 }); // milliseconds that waitFor and find… wait, on a slow machine too

// DOMPurify reads a node's name with Node's own getter, which in happy-dom does not know elements.
const names: Readonly<Record<number, string>> = {
  3: "#text",
  8: "#comment",
  9: "#document",
  11: "#document-fragment",
};
Object.defineProperty(Node.prototype, "nodeName", {
  configurable: true,
  get(this: Node) {
    return this instanceof Element ? this.tagName : (names[this.nodeType] ?? "");
  },
});

// happy-dom does not know <search>, and React warns about elements of an unknown class.
const createElement = document.createElement.bind(document);
document.createElement = (tag: string, options?: ElementCreationOptions) => {
  const element = createElement(tag, options);
  if (tag === "search") Object.defineProperty(element, Symbol.toStringTag, { value: "HTMLElement" });
  return element;
};

// happy-dom's fetch opens connections. A request that outlives its test must fail without one:
// happy-dom prints the stack trace of a failed connection.
window.fetch = () => Promise.reject(new TypeError("tests have no network"));
