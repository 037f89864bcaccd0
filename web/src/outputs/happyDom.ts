// For tests, imported before anything that sanitises: DOMPurify reads the name of
// a node by Node's own getter, which in happy-dom knows nothing of elements. And
// nothing is to be loaded, whatever is parsed.

const names: Readonly<Record<number, string>> = { 3: "#text", 8: "#comment", 9: "#document", 11: "#document-fragment" };

Object.defineProperty(Node.prototype, "nodeName", {
  configurable: true,
  get(this: Node) {
    return this instanceof Element ? this.tagName : (names[this.nodeType] ?? "");
  },
});

const { settings } = (window as unknown as { happyDOM: { settings: Record<string, boolean> } }).happyDOM;
settings.disableIframePageLoading = true;
settings.disableCSSFileLoading = true;
settings.disableJavaScriptFileLoading = true;
settings.handleDisabledFileLoadingAsSuccess = true;

export {};
