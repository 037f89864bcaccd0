import { useCallback, useEffect, useRef, useState } from "react";
import type { Execution, State } from "../store/state";
import { useSelect, useStore } from "../store/store";

/** A run that was told to stop, as it was then. */
interface Told {
  id: string;
  run: Execution;
}

/** How long the kernel has to stop a run, in milliseconds: the server kills one whose cell executions on after 5 s. */
const patience = 7000;

/**
 * Whether the kernel gives no sign although a cell was told to stop, so that it is
 * likely frozen; and what is to be told of each cell that is.
 */
export function useSilence(): { silent: boolean; told: (id: string) => void } {
  const store = useStore();
  const [late, setLate] = useState<Told | null>(null);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const { current } = timers;
    return () => current.forEach(clearTimeout);
  }, []);
  const told = useCallback(
    (id: string) => {
      const run = store.get().notebook.executions[id];
      if (run?.status !== "running") return;
      const timer = setTimeout(() => {
        timers.current.delete(timer);
        if (isUnheard(store.get(), { id, run })) setLate({ id, run });
      }, patience);
      timers.current.add(timer);
    },
    [store],
  );
  return { silent: useSelect((state) => late !== null && isUnheard(state, late)), told };
}

/** The run goes on as it was. One that waits behind another cannot be expected to stop. */
function isUnheard({ notebook }: State, { id, run }: Told): boolean {
  const now = notebook.executions[id];
  if (notebook.kernel !== "running" || now?.status !== "running") return false;
  if (now.started !== run.started || now.sequencer !== run.sequencer) return false;
  return now.started || !notebook.order.some((other) => notebook.executions[other]?.started === true);
}
