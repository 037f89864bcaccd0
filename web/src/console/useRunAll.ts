import { useEffect, useEffectEvent, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useNotebookNavigation } from "../commands/navigation";
import { useStore } from "../store/store";
import { type RunAllProgress, runAll } from "./runAll";

/**
 * Returns functions to start and stop a run of all cells, and its progress (null: not running). refusal says
 * why cells cannot run (null: they can) and stops a run. onStopped receives a text if the run stops early.
 */
export function useRunAll(refusal: string | null, onStopped: (text: string) => void) {
  const store = useStore();
  const commands = useCommands();
  const { jumpTo } = useNotebookNavigation();
  const [progress, setProgress] = useState<RunAllProgress | null>(null);
  const stop = useRef(() => {});
  const run = useEffectEvent((id: string) => commands?.runCell(id));
  const handleStopped = useEffectEvent((id: string, why: string) => {
    jumpTo(id);
    onStopped(why);
  });
  const [startCount, setStartCount] = useState(0);
  useEffect(() => {
    if (startCount === 0) return;
    stop.current = runAll({ store, run, onProgress: setProgress, onStopped: handleStopped });
    return () => stop.current();
  }, [startCount, store]);
  const stopBecause = useEffectEvent((why: string) => {
    if (progress === null) return;
    stop.current();
    onStopped(`Run all stopped after cell ${progress.cellNumber} of ${progress.cellCount}. ${why}`);
  });
  useEffect(() => {
    if (refusal !== null) stopBecause(refusal);
  }, [refusal]);
  return { progress, start: () => setStartCount(startCount + 1), stop: () => stop.current() };
}
