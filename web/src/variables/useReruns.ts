import { useEffect, useState } from "react";
import { useStore } from "../store/store";
import type { Graph } from "./graph";
import { Reruns } from "./reruns";

const shown = 4000; // milliseconds for which it is said that a cell ran again

/** The ids of the cells that ran again a moment ago, because of what they read. */
export function useReruns(graph: Graph): ReadonlySet<string> {
  const store = useStore();
  const [reruns] = useState(() => new Reruns());
  const [fresh, setFresh] = useState<ReadonlyMap<string, number>>(new Map());
  useEffect(() => {
    let { executions } = store.get().notebook;
    reruns.take(store.get(), graph);
    return store.subscribe(() => {
      const state = store.get();
      if (state.notebook.executions === executions) return;
      executions = state.notebook.executions;
      const again = reruns.take(state, graph);
      if (again.length === 0) return;
      const now = performance.now();
      setFresh((before) => new Map([...before, ...again.map((id) => [id, now] as const)]));
    });
  }, [store, reruns, graph]);
  useEffect(() => {
    if (fresh.size === 0) return;
    const first = Math.min(...fresh.values());
    const timer = setTimeout(
      () => setFresh((before) => new Map([...before].filter(([, at]) => at > first))),
      first + shown - performance.now(),
    );
    return () => clearTimeout(timer);
  }, [fresh]);
  return new Set(fresh.keys());
}
