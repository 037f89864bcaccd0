import { useEffect, useEffectEvent, useRef, useState } from "react";
import { useCommands } from "../commands/commands";
import { useNotebookNavigation } from "../commands/navigation";
import { useStore } from "../store/store";
import { type Progress, runAll } from "./runAll";

/**
 * Runs all cells. refusal is why no cell can run, which ends the run; null: cells can run.
 * onStopped is called if it ends early.
 */
export function useRunAll(refusal: string | null, onStopped: (text: string) => void) {
  const store = useStore();
  const commands = useCommands();
  const { jumpTo } = useNotebookNavigation();
  const [progress, setProgress] = useState<Progress | null>(null);
  const stop = useRef(() => {});
  const run = useEffectEvent((id: string) => commands?.runCell(id));
  const told = useEffectEvent((id: string, why: string) => {
    jumpTo(id);
    onStopped(why);
  });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (asked === 0) return;
    stop.current = runAll({ store, run, onProgress: setProgress, onStopped: told });
    return () => stop.current();
  }, [asked, store]);
  const cut = useEffectEvent((why: string) => {
    if (progress === null) return;
    stop.current();
    onStopped(`Run all has stopped behind cell ${progress.at} of ${progress.of}. ${why}`);
  });
  useEffect(() => {
    if (refusal !== null) cut(refusal);
  }, [refusal]);
  return { progress, start: () => setAsked(asked + 1), stop: () => stop.current() };
}
