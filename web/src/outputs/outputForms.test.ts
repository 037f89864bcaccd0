import { expect, test } from "vitest";
import { outputFormsOf } from "./outputForms";

const kindsOfForms = (data: unknown) => outputFormsOf(data).forms.map((form) => form.kind);

test("forms are ranked by type, whatever the order of the bundle", () => {
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
  expect(kindsOfForms(data)).toEqual(["plot", "html", "svg", "image", "markdown", "latex", "json", "text"]);
  expect(outputFormsOf(data).notes).toEqual([]);
});

test("a text value may be a list of lines", () => {
  expect(outputFormsOf({ "text/plain": ["a\n", "b"] }).forms).toEqual([
    { kind: "text", mime: "text/plain", text: "a\nb" },
  ]);
});

test("a value that the server left out gets a note with its size", () => {
  const { forms, notes } = outputFormsOf({
    "image/png": { mime: "image/png", bytes: 5_500_000 },
    "text/plain": "<Figure>",
  });
  expect(forms.map((form) => form.mime)).toEqual(["text/plain"]);
  expect(notes).toEqual(["image/png (5.2 MiB) was left out, because it is large: the trace has it."]);
});

test("a figure with unsupported trace types gets a note, and the other forms stay", () => {
  const figure = { data: [{ type: "surface" }, { type: "scatter" }, { type: "surface" }] };
  const { forms, notes } = outputFormsOf({ "application/vnd.plotly.v1+json": figure, "text/plain": "Figure" });
  expect(forms.map((form) => form.kind)).toEqual(["text"]);
  expect(notes[0]).toContain("traces of type surface, which");
});

test.each(["histogram", "heatmap", "box", "violin", "contour"])("a figure of type %s can be drawn", (type) => {
  expect(kindsOfForms({ "application/vnd.plotly.v1+json": { data: [{ type }] } })).toEqual(["plot"]);
});

test("a scattergl trace is drawn as scatter", () => {
  expect(kindsOfForms({ "application/vnd.plotly.v1+json": { data: [{ type: "scattergl" }, {}] } })).toEqual(["plot"]);
});

test("an unknown type gets a note with its name and size", () => {
  expect(outputFormsOf({ "application/x-odd": "abc" }).notes).toEqual([
    "application/x-odd (3 B) cannot be shown here.",
  ]);
});

test("types for other programs get no note if another form can be shown", () => {
  const widget = { "application/vnd.jupyter.widget-view+json": { model_id: "x" }, "text/plain": "IntSlider()" };
  expect(outputFormsOf(widget)).toMatchObject({ notes: [] });
  expect(kindsOfForms(widget)[0]).toBe("text");
});

test.each([
  ["null", null],
  ["a list", [1]],
  ["a text", "x"],
  ["nothing", undefined],
])("data that is %s has no forms, and a note", (_, data) => {
  expect(outputFormsOf(data)).toEqual({ forms: [], notes: ["This output has no data that could be shown."] });
});

test.each([
  ["text/html", 5, "text/html: expected text, found a number."],
  ["text/plain", [1], "text/plain: expected text, found a list."],
  ["image/png", null, "image/png: expected base64, found null."],
  ["image/png", "@@@", "image/png: the data is not valid base64."],
  ["image/png", "", "image/png: the data is not valid base64."],
  ['image/png;x="><script>', "aGk=", '"image/png;x=\\"><script>" is not a valid media type.'],
  [
    "application/vnd.plotly.v1+json",
    "x",
    "application/vnd.plotly.v1+json: expected a figure with data, found a string.",
  ],
])("an invalid value gets a note: %s with %j", (mime, value, note) => {
  expect(outputFormsOf({ [mime]: value })).toEqual({ forms: [], notes: [note] });
});
