import { useCallback, useEffect, useRef, useState } from "react";
import type { Execution, State } from "../store/state";
import { useSelect, useStore } from "../store/store";

/** A request to stop a cell: the cell's id, and its execution at the time of the request. */
interface CellStopRequest {
  id: string;
  run: Execution;
}

/**
 * How long the kernel has to stop a run, in milliseconds. The server kills a kernel whose cell is
 * still running after 5 s.
 */
const cellStopTimeout = 7000;

/**
 * Detects a kernel that does not respond to a request to stop a cell: isSilent is true if the cell is still
 * running 7 s later. noteStopRequest must be called with the id of each cell that is asked to stop.
 */
export function useSilentKernel(): { isSilent: boolean; noteStopRequest: (id: string) => void } {
  const store = useStore();
  const [late, setLate] = useState<CellStopRequest | null>(null);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const { current } = timers;
    return () => current.forEach(clearTimeout);
  }, []);
  const noteStopRequest = useCallback(
    (id: string) => {
      const run = store.get().notebook.executions[id];
      if (run?.status !== "running") return;
      const timer = setTimeout(() => {
        timers.current.delete(timer);
        if (isStopUnanswered(store.get(), { id, run })) setLate({ id, run });
      }, cellStopTimeout);
      timers.current.add(timer);
    },
    [store],
  );
  return { isSilent: useSelect((state) => late !== null && isStopUnanswered(state, late)), noteStopRequest };
}

/**
 * Reports whether a cell that was asked to stop is still in the same execution. False for a cell that is queued
 * behind a running one, because it need not stop yet.
 */
function isStopUnanswered({ notebook }: State, { id, run }: CellStopRequest): boolean {
  const now = notebook.executions[id];
  if (notebook.kernel !== "running" || now?.status !== "running") return false;
  if (now.started !== run.started || now.sequencer !== run.sequencer) return false;
  return now.started || !notebook.order.some((other) => notebook.executions[other]?.started === true);
}
