// Renders every input of hostile.json with the components for its kind, and checks that nothing in
// the DOM could run or load. Fields of an input:
//   name     unique
//   kind     html, svg, markdown, ansi, json, latex, plotly (payloads of json and plotly are
//            JSON texts), or another place where untrusted text is shown: filename,
//            cell_id, title, widget
//   payload  sets window.__pwned, or requests something from 127.0.0.1:9, if it is not stopped
// happy-dom runs no scripts. The tests in e2e load the same list in a browser, with the
// server's real policy.

import { cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { plainName } from "../text/displayText";
import inputs from "./hostile.json";
import { Markdown } from "./Markdown";
import { OutputList } from "./OutputList";
import { outputFormsOf } from "./outputForms";
import { plotlyInput } from "./plotlyFigure";
import { SafeHtml } from "./SafeHtml";

const forbiddenElementsSelector =
  "script, style, link, meta, base, form, input, button[formaction], textarea, object, embed, template, noscript, svg:not([class*=lucide]) *, foreignObject, frameset, frame, portal, [id], [name]";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React reports outputs that OutputErrorBoundary catches
  vi.stubGlobal("fetch", () => Promise.reject(new Error("no network")));
});

afterEach(cleanup);

/** Returns the inputs of some kinds. */
const hostileInputsOfKinds = (...kinds: string[]) => inputs.filter(({ kind }) => kinds.includes(kind));

/** Lists elements and attributes below root that could run something or load something. The page's own height style of frames is ignored. */
function dangersIn(root: Element): string[] {
  for (const element of root.querySelectorAll("[class*=container], [class*=placeholder]"))
    element.removeAttribute("style");
  const found = [...root.querySelectorAll(forbiddenElementsSelector)].map((element) => element.outerHTML.slice(0, 100));
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

const outputsWithOneMimeType = (mime: string, value: unknown) => [
  { output_type: "display_data" as const, data: { [mime]: value }, metadata: {} },
];

test("hostile.json has more than 300 inputs with unique names", () => {
  expect(new Set(inputs.map(({ name }) => name)).size).toBe(inputs.length);
  expect(inputs.length).toBeGreaterThan(300);
});

test.each(hostileInputsOfKinds("html"))("sanitized HTML in the page is harmless: $name", ({ payload }) => {
  const { container } = render(<SafeHtml html={payload} />);
  expect(dangersIn(container)).toEqual([]);
});

test.each(hostileInputsOfKinds("html"))("an HTML output is harmless: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={outputsWithOneMimeType("text/html", payload)} />);
  expect(dangersIn(container)).toEqual([]);
});

test.each(hostileInputsOfKinds("markdown", "html", "title", "widget"))(
  "rendered Markdown is harmless: $name",
  ({ payload }) => {
    const { container } = render(<Markdown source={payload} />);
    expect(dangersIn(container)).toEqual([]);
  },
);

test.each(hostileInputsOfKinds("svg"))("an SVG output is harmless: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={outputsWithOneMimeType("image/svg+xml", payload)} />);
  expect(dangersIn(container)).toEqual([]);
  expect(container.querySelector("img")?.getAttribute("src")).toMatch(/^data:image\/svg\+xml;charset=utf-8,[^<>"]*$/);
});

test.each(inputs)("printed text and tracebacks are harmless: $name", ({ payload }) => {
  const outputs = [
    { output_type: "stream" as const, name: "stderr" as const, text: payload },
    { output_type: "error" as const, ename: payload, evalue: payload, traceback: [payload, payload] },
  ];
  const { container } = render(<OutputList outputs={outputs} />);
  // Colours may be set as custom properties, and nothing else may be in a style.
  for (const element of container.querySelectorAll("[style]")) {
    expect(element.getAttribute("style")).toMatch(
      /^(?:\s*--(?:foreground|background): ?(?:var\(--ansi-\d+\)|rgb\(\d+ \d+ \d+\));?)+$/,
    );
    element.removeAttribute("style");
  }
  expect(dangersIn(container)).toEqual([]);
});

test.each(hostileInputsOfKinds("json"))("a JSON output is harmless: $name", ({ payload }) => {
  const { container } = render(
    <OutputList outputs={outputsWithOneMimeType("application/json", JSON.parse(payload))} />,
  );
  expect(dangersIn(container)).toEqual([]);
  expect(container.querySelector("[role=alert]")).toBeNull();
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test.each(hostileInputsOfKinds("latex"))("a LaTeX output is harmless: $name", ({ payload }) => {
  const { container } = render(<OutputList outputs={outputsWithOneMimeType("text/latex", payload)} />);
  expect(dangersIn(container)).toEqual([]);
});

test.each(hostileInputsOfKinds("plotly"))("a Plotly output is harmless: $name", ({ payload }) => {
  const figure = JSON.parse(payload);
  const { container } = render(
    <OutputList outputs={outputsWithOneMimeType("application/vnd.plotly.v1+json", figure)} />,
  );
  expect(dangersIn(container)).toEqual([]);
  expect(Object.keys(plotlyInput(figure))).toEqual(["data", "layout", "frames"]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test.each(hostileInputsOfKinds("filename", "cell_id", "title", "widget"))(
  "plainName and MIME type names are harmless: $name",
  ({ payload }) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds forbidden characters
    expect(plainName(payload)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    const { container } = render(<OutputList outputs={outputsWithOneMimeType(payload, payload)} />);
    expect(dangersIn(container)).toEqual([]);
    expect(() => outputFormsOf({ [payload]: { [payload]: payload } })).not.toThrow();
  },
);
