import address from "plotly.js-cartesian-dist-min/plotly-cartesian.min.js?url";

let source: Promise<string> | null = null;

/** The program of plotly, as text for a frame: fetched once, when a figure is first shown. */
export function plotlySource(): Promise<string> {
  source ??= fetch(address).then((answer) => {
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return answer.text();
  });
  source.catch(() => {
    source = null; // so that the next figure tries again
  });
  return source;
}
