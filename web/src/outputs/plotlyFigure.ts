// Checks and prepares Plotly figures for the Plotly bundle of this page, plotly.js-cartesian-dist-min.

import { anyObject } from "../json/schema";
import { plainName } from "../text/displayText";

/** The trace types that plotly.js-cartesian-dist-min can draw. */
const supportedTraceTypes = new Set(
  "bar box contour heatmap histogram histogram2d histogram2dcontour image pie scatter scatterternary violin".split(" "),
);

/** The trace types that can be drawn, as comma-separated text for messages. */
export const supportedTraceTypesText = [...supportedTraceTypes].join(", ");

/** Returns the types of traces that this page's Plotly bundle cannot draw, each once and at most 10, for display. */
export function unsupportedTraceTypes(traces: readonly unknown[]): readonly string[] {
  const missing = new Set<string>();
  for (const trace of traces) {
    const type = traceTypeOf(trace);
    if (!supportedTraceTypes.has(type)) missing.add(plainName(type, 40));
  }
  return [...missing].slice(0, 10);
}

/** Returns a trace's type: "scatter" if it has none, and instead of "scattergl", which needs WebGL. */
function traceTypeOf(trace: unknown): string {
  const type = anyObject.parse(trace)?.type ?? "scatter";
  return type === "scattergl" ? "scatter" : String(type);
}

/**
 * Returns the parts of a figure that are passed to Plotly: data, layout and frames. A config is
 * left out, because it could name a server. Parts of a wrong type become empty.
 */
export function plotlyInput(figure: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const data = Array.isArray(figure.data) ? figure.data : [];
  return {
    data: data.map((trace) => ({ ...anyObject.parse(trace), type: traceTypeOf(trace) })),
    layout: anyObject.parse(figure.layout) ?? {},
    frames: Array.isArray(figure.frames) ? figure.frames : [],
  };
}
