import { useEffect, useState } from "react";
import type { Graph } from "./graph";
import type { Layout } from "./layout";
import { startWorker } from "./startWorker";

export interface Drawn {
  graph: Graph;
  layout: Layout;
}

/** The newest graph that is laid out, which may be one before graph; null: none is yet. An Error: it cannot be. */
export function useLayout(graph: Graph): Drawn | Error | null {
  const [drawn, setDrawn] = useState<Drawn | Error | null>(null);
  useEffect(() => {
    let over = false;
    const worker = startWorker();
    layOut(graph, worker)
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

/** Lays a graph out in the worker; without one, or where it does not start, here. */
async function layOut(graph: Graph, worker: Worker | null): Promise<Layout> {
  const done = worker && (await answerOf(worker, graph));
  return done ?? (await import("./layout")).layoutOf(graph);
}

function answerOf(worker: Worker, graph: Graph): Promise<Layout | null> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<Layout>) => resolve(data);
    worker.onerror = () => resolve(null);
    worker.postMessage(graph);
  });
}
