import { useEffect, useState } from "react";
import { useStore } from "../store/store";
import type { Graph } from "./graph";
import { RerunDetector } from "./rerunDetector";

const rerunShownMs = 4000; // how long a rerun is shown, in milliseconds

/** Returns the ids of the cells that ran again in the last four seconds because of their dependencies. */
export function useReruns(graph: Graph): ReadonlySet<string> {
  const store = useStore();
  const [reruns] = useState(() => new RerunDetector());
  const [recent, setRecent] = useState<ReadonlyMap<string, number>>(new Map());
  useEffect(() => {
    let { executions } = store.get().notebook;
    reruns.update(store.get(), graph);
    return store.subscribe(() => {
      const state = store.get();
      if (state.notebook.executions === executions) return;
      executions = state.notebook.executions;
      const again = reruns.update(state, graph);
      if (again.length === 0) return;
      const now = performance.now();
      setRecent((before) => new Map([...before, ...again.map((id) => [id, now] as const)]));
    });
  }, [store, reruns, graph]);
  useEffect(() => {
    if (recent.size === 0) return;
    const first = Math.min(...recent.values());
    const timer = setTimeout(
      () => setRecent((before) => new Map([...before].filter(([, at]) => at > first))),
      first + rerunShownMs - performance.now(),
    );
    return () => clearTimeout(timer);
  }, [recent]);
  return new Set(recent.keys());
}
