import { useEffect, useState } from "react";
import type { Graph } from "./graph";
import type { Layout } from "./layout";
import { startWorker } from "./startWorker";

export interface GraphWithLayout {
  graph: Graph;
  layout: Layout;
}

/**
 * Returns the newest graph that has a layout, which may be older than the given graph; null if
 * there is none yet; an Error if computing the layout failed.
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

/** Computes a layout in the worker; in the page itself if there is no worker or it fails to start. */
async function computeLayoutInWorker(graph: Graph, worker: Worker | null): Promise<Layout> {
  const done = worker && (await requestFromWorker(worker, graph));
  return done ?? (await import("./layout")).computeLayout(graph);
}

function requestFromWorker(worker: Worker, graph: Graph): Promise<Layout | null> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<Layout>) => resolve(data);
    worker.onerror = () => resolve(null);
    worker.postMessage(graph);
  });
}
