import { expect, test } from "vitest";
import { drawable, traceTypes } from "./figure";

test("only data, layout and frames reach plotly", () => {
  const figure = {
    data: [{ y: [1] }],
    layout: { title: "x" },
    frames: [],
    config: { plotlyServerURL: "http://127.0.0.1:9/" },
  };
  expect(drawable(figure)).toEqual({ data: [{ y: [1], type: "scatter" }], layout: { title: "x" }, frames: [] });
});

test("parts of the wrong type are left out", () => {
  expect(drawable({ data: [null, "x", { type: "scattergl" }], layout: "<script>", frames: {} })).toEqual({
    data: [{ type: "scatter" }, { type: "scatter" }, { type: "scatter" }],
    layout: {},
    frames: [],
  });
  expect(drawable({ data: { length: 1e9 } })).toEqual({ data: [], layout: {}, frames: [] });
});

test("types that are not in the bundle are named once, as plain text", () => {
  const traces = [{ type: "surface" }, { type: "surface" }, { type: "\u202ex" }, { type: 5 }, { type: "heatmap" }, {}];
  expect(traceTypes(traces).missing).toEqual(["surface", "<U+202E>x", "5"]);
});
