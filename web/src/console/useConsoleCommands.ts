import { useMemo } from "react";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import type { Commands } from "../commands/commands";
import { useSelect } from "../store/store";
import { whyCannotAddCell } from "./commandProblems";

/** Returns the user's commands on a live session; null if it has none yet. onStop is called with the id of each cell that is asked to stop. */
export function useConsoleCommands(live: SessionSnapshot, onStop: (id: string) => void): Commands | null {
  const { commands } = live;
  const over = useSelect((state) => state.verdict !== null);
  const addProblem = whyCannotAddCell(live, over);
  return useMemo(() => {
    if (commands === null) return null;
    const stopCell = (id: string) => {
      commands.stopCell(id);
      onStop(id);
    };
    return { ...commands, stopCell, addProblem };
  }, [commands, addProblem, onStop]);
}
