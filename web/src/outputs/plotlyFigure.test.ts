import { expect, test } from "vitest";
import { plotlyInput, unsupportedTraceTypes } from "./plotlyFigure";

test("plotlyInput keeps only data, layout and frames", () => {
  const figure = {
    data: [{ y: [1] }],
    layout: { title: "x" },
    frames: [],
    config: { plotlyServerURL: "http://127.0.0.1:9/" },
  };
  expect(plotlyInput(figure)).toEqual({ data: [{ y: [1], type: "scatter" }], layout: { title: "x" }, frames: [] });
});

test("plotlyInput drops traces, layouts and frames of the wrong type", () => {
  expect(plotlyInput({ data: [null, "x", { type: "scattergl" }], layout: "<script>", frames: {} })).toEqual({
    data: [{ type: "scatter" }, { type: "scatter" }, { type: "scatter" }],
    layout: {},
    frames: [],
  });
  expect(plotlyInput({ data: { length: 1e9 } })).toEqual({ data: [], layout: {}, frames: [] });
});

test("unsupportedTraceTypes returns each unsupported type once, with control characters escaped", () => {
  const traces = [{ type: "surface" }, { type: "surface" }, { type: "\u202ex" }, { type: 5 }, { type: "heatmap" }, {}];
  expect(unsupportedTraceTypes(traces)).toEqual(["surface", "<U+202E>x", "5"]);
});
