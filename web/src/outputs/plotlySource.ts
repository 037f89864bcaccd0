import plotlyUrl from "plotly.js-cartesian-dist-min/plotly-cartesian.min.js?url";

/** Plotly's source text, loading or loaded; null: not requested yet, or loading failed. */
let plotlySourcePromise: Promise<string> | null = null;

/**
 * Fetches the source text of Plotly once. It is passed to the frames, which cannot fetch anything. The promise
 * rejects if the server does not return it; the next call then tries again.
 */
export function loadPlotlySource(): Promise<string> {
  plotlySourcePromise ??= fetch(plotlyUrl).then((response) => {
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response.text();
  });
  plotlySourcePromise.catch(() => {
    plotlySourcePromise = null; // the next figure tries again
  });
  return plotlySourcePromise;
}
