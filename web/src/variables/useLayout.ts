import { useEffect, useState } from "react";
import type { Graph } from "./graph";
import type { Layout } from "./layout";
import { startWorker } from "./startWorker";

export interface GraphWithLayout {
  graph: Graph;
  layout: Layout;
}

/**
 * Returns the newest graph with a layout, which may be an earlier one than graph; null: none yet;
 * an Error if the layout failed.
 */
export function useLayout(graph: Graph): GraphWithLayout | Error | null {
  const [drawn, setDrawn] = useState<GraphWithLayout | Error | null>(null);
  useEffect(() => {
    let over = false;
    const worker = startWorker();
    computeLayoutInWorker(graph, worker)
      .then(
        (layout) => ({ graph, layout }),
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      )
      .then((result) => {
        if (!over) setDrawn(result);
      });
    return () => {
      over = true;
      worker?.terminate();
    };
  }, [graph]);
  return drawn;
}

/** Computes the layout in the worker, or here if there is no worker or it does not start. */
async function computeLayoutInWorker(graph: Graph, worker: Worker | null): Promise<Layout> {
  const done = worker && (await workerResult(worker, graph));
  return done ?? (await import("./layout")).computeLayout(graph);
}

function workerResult(worker: Worker, graph: Graph): Promise<Layout | null> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<Layout>) => resolve(data);
    worker.onerror = () => resolve(null);
    worker.postMessage(graph);
  });
}
