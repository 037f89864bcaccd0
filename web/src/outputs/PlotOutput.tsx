import { useEffect, useMemo, useState } from "react";
import { anyObject } from "../json/schema";
import { Frame } from "./Frame";
import { drawable } from "./figure";
import styles from "./Outputs.module.css";
import { plotlySource } from "./plotly";

/** A figure of plotly, drawn in a frame. */
export function PlotOutput({ figure, of }: { figure: Readonly<Record<string, unknown>>; of: object }) {
  const [plotly, setPlotly] = useState<string | Error | null>(null);
  useEffect(() => {
    let gone = false;
    plotlySource()
      .catch((error: Error) => error)
      .then((found) => !gone && setPlotly(found));
    return () => {
      gone = true;
    };
  }, []);
  const content = useMemo(() => ({ plotly, figure: drawable(figure) }), [plotly, figure]);
  const height = heightOf(figure);
  if (plotly instanceof Error) {
    return (
      <p className={styles.note} role="alert">
        The figure cannot be drawn, because plotly could not be loaded: {plotly.message}.
      </p>
    );
  }
  if (plotly === null) return <div className={styles.placeholder} style={{ height }} aria-busy />;
  return <Frame page="plot" content={content} title={titleOf(figure)} height={height} of={of} />;
}

function heightOf(figure: Readonly<Record<string, unknown>>): number {
  const height = anyObject.parse(figure.layout)?.height;
  return typeof height === "number" && height >= 50 && height <= 2000 ? height : 450;
}

function titleOf(figure: Readonly<Record<string, unknown>>): string {
  const title = anyObject.parse(figure.layout)?.title;
  const text = typeof title === "string" ? title : anyObject.parse(title)?.text;
  return typeof text === "string" ? `Figure: ${text.slice(0, 200)}` : "Figure";
}
