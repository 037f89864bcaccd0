import { expect, test } from "vitest";
import { formsOf } from "./mime";

const kinds = (data: unknown) => formsOf(data).forms.map((form) => form.kind);

test("the richest form comes first, whatever the order", () => {
  const data = {
    "text/plain": "x",
    "application/json": { a: 1 },
    "text/markdown": "x",
    "image/png": "aGk=",
    "image/svg+xml": "<svg/>",
    "text/html": "<p>",
    "application/vnd.plotly.v1+json": { data: [], layout: {} },
    "text/latex": "$x$",
  };
  expect(kinds(data)).toEqual(["plot", "html", "svg", "image", "markdown", "latex", "json", "text"]);
  expect(formsOf(data).notes).toEqual([]);
});

test("a text may be a list of lines", () => {
  expect(formsOf({ "text/plain": ["a\n", "b"] }).forms).toEqual([{ kind: "text", mime: "text/plain", text: "a\nb" }]);
});

test("what was left out is said, with its size and where it is", () => {
  const { forms, notes } = formsOf({ "image/png": { mime: "image/png", bytes: 5_500_000 }, "text/plain": "<Figure>" });
  expect(forms.map((form) => form.mime)).toEqual(["text/plain"]);
  expect(notes).toEqual(["image/png (5.2 MiB) was left out, because it is large: the trace has it."]);
});

test("a figure that cannot be drawn says why and leaves the other forms", () => {
  const figure = { data: [{ type: "surface" }, { type: "scatter" }, { type: "surface" }] };
  const { forms, notes } = formsOf({ "application/vnd.plotly.v1+json": figure, "text/plain": "Figure" });
  expect(forms.map((form) => form.kind)).toEqual(["text"]);
  expect(notes[0]).toContain("traces of type surface, which");
});

test.each(["histogram", "heatmap", "box", "violin", "contour"])("a figure of %s can be drawn", (type) => {
  expect(kinds({ "application/vnd.plotly.v1+json": { data: [{ type }] } })).toEqual(["plot"]);
});

test("WebGL's scatter is drawn without it", () => {
  expect(kinds({ "application/vnd.plotly.v1+json": { data: [{ type: "scattergl" }, {}] } })).toEqual(["plot"]);
});

test("a type that is not known is named, with its size", () => {
  expect(formsOf({ "application/x-odd": "abc" }).notes).toEqual(["application/x-odd (3 B) cannot be shown here."]);
});

test("forms for other programs are not mentioned beside one that can be shown", () => {
  const widget = { "application/vnd.jupyter.widget-view+json": { model_id: "x" }, "text/plain": "IntSlider()" };
  expect(formsOf(widget)).toMatchObject({ notes: [] });
  expect(kinds(widget)[0]).toBe("text");
});

test.each([
  ["null", null],
  ["a list", [1]],
  ["a text", "x"],
  ["nothing", undefined],
])("data that is %s", (_, data) => {
  expect(formsOf(data)).toEqual({ forms: [], notes: ["This output has no data that could be shown."] });
});

test.each([
  ["text/html", 5, "text/html: expected text, found a number."],
  ["text/plain", [1], "text/plain: expected text, found a list."],
  ["image/png", null, "image/png: expected base64, found null."],
  ["image/png", "@@@", "image/png: this is no base64, the data is damaged."],
  ["image/png", "", "image/png: this is no base64, the data is damaged."],
  ['image/png;x="><script>', "aGk=", '"image/png;x=\\"><script>" is no type that is known.'],
  [
    "application/vnd.plotly.v1+json",
    "x",
    "application/vnd.plotly.v1+json: expected a figure with data, found a string.",
  ],
])("%s with %j", (mime, value, note) => {
  expect(formsOf({ [mime]: value })).toEqual({ forms: [], notes: [note] });
});
