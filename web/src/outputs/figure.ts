// Figures of plotly, made ready for the bundle of it that we have.

import { anyObject } from "../json/schema";
import { plainName } from "../text/displayText";

/** What plotly.js-cartesian-dist-min can draw. */
const drawn = new Set(
  "bar box contour heatmap histogram histogram2d histogram2dcontour image pie scatter scatterternary violin".split(" "),
);

/** The same, for people. */
export const drawnNames = [...drawn].join(", ");

/** The types of the traces, and those of them that cannot be drawn. */
export function traceTypes(traces: readonly unknown[]): { missing: readonly string[] } {
  const missing = new Set<string>();
  for (const trace of traces) {
    const type = typeOf(trace);
    if (!drawn.has(type)) missing.add(plainName(type, 40));
  }
  return { missing: [...missing].slice(0, 10) };
}

/** A trace without a type is a scatter, and one that WebGL would draw can be drawn without it. */
function typeOf(trace: unknown): string {
  const type = anyObject.parse(trace)?.type ?? "scatter";
  return type === "scattergl" ? "scatter" : String(type);
}

/** What is passed to plotly: data, layout and frames only, for a config could name a cloud. */
export function drawable(figure: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const data = Array.isArray(figure.data) ? figure.data : [];
  return {
    data: data.map((trace) => ({ ...anyObject.parse(trace), type: typeOf(trace) })),
    layout: anyObject.parse(figure.layout) ?? {},
    frames: Array.isArray(figure.frames) ? figure.frames : [],
  };
}
