// Every input of hostile.json goes through what shows its kind. The list:
//   name     of its own
//   kind     html, svg, markdown, ansi, json, latex, plotly (json and plotly are
//            texts of JSON), or where else a stranger's text is shown: filename,
//            cell_id, title, widget
//   payload  sets window.__pwned, or asks 127.0.0.1:9 for something, if it can
// The DOM here is happy-dom's, which runs nothing; what a browser makes of the
// same list, behind the server's real policy, is for the tests in e2e.

import { cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { plainName } from "../text/displayText";
import { drawable } from "./figure";
import inputs from "./hostile.json";
import { Markdown } from "./Markdown";
import { formsOf } from "./mime";
import { OutputList } from "./OutputList";
import { SafeHtml } from "./SafeHtml";

const forbidden =
  "script, style, link, meta, base, form, input, button[formaction], textarea, object, embed, template, noscript, svg:not([class*=lucide]) *, foreignObject, frameset, frame, portal, [id], [name]";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React reports outputs that OutputBoundary catches
  vi.stubGlobal("fetch", () => Promise.reject(new Error("no network")));
});

afterEach(cleanup);

const of = (...kinds: string[]) => inputs.filter(({ kind }) => kinds.includes(kind));

/** Says what in the DOM could run, or ask somebody for something. The place of a frame has a height, which is ours. */
function faults(root: Element): string[] {
  for (const element of root.querySelectorAll("[class*=place]")) element.removeAttribute("style");
  const found = [...root.querySelectorAll(forbidden)].map((element) => element.outerHTML.slice(0, 100));
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      const place = `${element.localName} ${name}=${value.slice(0, 60)}`;
      if (/^(?:on|style$|srcset$|srcdoc$|ping$|action$|formaction$|background$|data$|poster$)/i.test(name))
        found.push(place);
      if (name === "href" && !/^(?:https?:|mailto:)/.test(value)) found.push(place);
      if (name === "href" && element.getAttribute("rel") !== "noopener noreferrer") found.push(`${place} without rel`);
      if (name === "src" && !/^(?:data:(?:image|audio|video)\/|\/frame\/(?:html|plot)\.html$)/.test(value))
        found.push(place);
      if (element.localName === "iframe" && element.getAttribute("sandbox") !== "allow-scripts")
        found.push(`${place} not sandboxed`);
    }
  }
  return found;
}

const bundle = (mime: string, value: unknown) => [
  { output_type: "display_data" as const, data: { [mime]: value }, metadata: {} },
];

test("the list has names that differ, and enough of each kind", () => {
  expect(new Set(inputs.map(({ name }) => name)).size).toBe(inputs.length);
  expect(inputs.length).toBeGreaterThan(300);
});

test.each(of("html"))("html in the page: $name", ({ payload }) => {
  const { container } = render(<SafeHtml html={payload} />);
  expect(faults(container)).toEqual([]);
});

test.each(of("html"))("html as an output: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={bundle("text/html", payload)} />);
  expect(faults(container)).toEqual([]);
});

test.each(of("markdown", "html", "title", "widget"))("markdown: $name", ({ payload }) => {
  const { container } = render(<Markdown source={payload} />);
  expect(faults(container)).toEqual([]);
});

test.each(of("svg"))("svg: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={bundle("image/svg+xml", payload)} />);
  expect(faults(container)).toEqual([]);
  expect(container.querySelector("img")?.getAttribute("src")).toMatch(/^data:image\/svg\+xml;charset=utf-8,[^<>"]*$/);
});

test.each(inputs)("printed: $name", ({ payload }) => {
  const outputs = [
    { output_type: "stream" as const, name: "stderr" as const, text: payload },
    { output_type: "error" as const, ename: payload, evalue: payload, traceback: [payload, payload] },
  ];
  const { container } = render(<OutputList outputs={outputs} />);
  // Colours are set as properties, which no policy forbids; no program may name them.
  for (const element of container.querySelectorAll("[style]")) {
    expect(element.getAttribute("style")).toMatch(
      /^(?:\s*--(?:ink|paper): ?(?:var\(--ansi-\d+\)|rgb\(\d+ \d+ \d+\));?)+$/,
    );
    element.removeAttribute("style");
  }
  expect(faults(container)).toEqual([]);
});

test.each(of("json"))("json: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={bundle("application/json", JSON.parse(payload))} />);
  expect(faults(container)).toEqual([]);
  expect(container.querySelector("[role=alert]")).toBeNull();
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test.each(of("latex"))("latex: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={bundle("text/latex", payload)} />);
  expect(faults(container)).toEqual([]);
});

test.each(of("plotly"))("plotly: $name", ({ payload }) => {
  const figure = JSON.parse(payload);
  const { container } = render(<OutputList outputs={bundle("application/vnd.plotly.v1+json", figure)} />);
  expect(faults(container)).toEqual([]);
  expect(Object.keys(drawable(figure))).toEqual(["data", "layout", "frames"]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test.each(of("filename", "cell_id", "title", "widget"))("a name: $name", ({ payload }) => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(plainName(payload)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
  const { container } = render(<OutputList outputs={bundle(payload, payload)} />);
  expect(faults(container)).toEqual([]);
  expect(() => formsOf({ [payload]: { [payload]: payload } })).not.toThrow();
});
