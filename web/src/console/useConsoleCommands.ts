import { useMemo } from "react";
import type { Live } from "../agent/live";
import type { Commands } from "../commands/commands";
import { useSelect } from "../store/store";
import { addingRefusal } from "./refusal";

/** What one may do here, and why no cell can be made where it cannot. told hears of each cell that is told to stop. */
export function useConsoleCommands(live: Live, told: (id: string) => void): Commands | null {
  const { commands } = live;
  const over = useSelect((state) => state.verdict !== null);
  const whyNotAdd = addingRefusal(live, over);
  return useMemo(() => {
    if (commands === null) return null;
    const stopCell = (id: string) => {
      commands.stopCell(id);
      told(id);
    };
    return { ...commands, stopCell, whyNotAdd };
  }, [commands, whyNotAdd, told]);
}
