import { useEffect, useMemo, useState } from "react";
import { anyObject } from "../json/schema";
import styles from "./Outputs.module.css";
import { plotlyInput } from "./plotlyFigure";
import { loadPlotlySource } from "./plotlySource";
import { SandboxedFrame } from "./SandboxedFrame";

/** Draws a Plotly figure in a sandboxed frame, or shows an error if Plotly cannot be loaded. */
export function PlotOutput({ figure, of }: { figure: Readonly<Record<string, unknown>>; of: object }) {
  const [plotly, setPlotly] = useState<string | Error | null>(null);
  useEffect(() => {
    let gone = false;
    loadPlotlySource()
      .catch((error: Error) => error)
      .then((found) => !gone && setPlotly(found));
    return () => {
      gone = true;
    };
  }, []);
  const content = useMemo(() => ({ plotly, figure: plotlyInput(figure) }), [plotly, figure]);
  const height = figureHeightOf(figure);
  if (plotly instanceof Error) {
    return (
      <p className={styles.note} role="alert">
        The figure cannot be drawn, because plotly could not be loaded: {plotly.message}.
      </p>
    );
  }
  if (plotly === null) return <div className={styles.placeholder} style={{ height }} aria-busy />;
  return <SandboxedFrame page="plot" content={content} title={figureTitleOf(figure)} height={height} outputKey={of} />;
}

/** Returns the height of a figure's layout in CSS pixels if it is from 50 to 2000, else 450. */
function figureHeightOf(figure: Readonly<Record<string, unknown>>): number {
  const height = anyObject.parse(figure.layout)?.height;
  return typeof height === "number" && height >= 50 && height <= 2000 ? height : 450;
}

/** Returns "Figure: " and the title of a figure's layout; "Figure" if it has no title. */
function figureTitleOf(figure: Readonly<Record<string, unknown>>): string {
  const title = anyObject.parse(figure.layout)?.title;
  const text = typeof title === "string" ? title : anyObject.parse(title)?.text;
  return typeof text === "string" ? `Figure: ${text.slice(0, 200)}` : "Figure";
}
