import type { Commands } from "../notebook/commands";
import type { Core } from "./core";

/** Tells which cells were sent to be run, and were not. */
export function tellLost({ notices }: Core, cells: readonly string[]): void {
  if (cells.length === 0) return;
  const what = cells.length === 1 ? "A cell was" : `${cells.length} cells were`;
  notices.add("error", `${what} not run: the connection was lost.`);
}

/** Tells that what was typed into a cell could not be stored. Of a cell that is not there any more the text can be had back. */
export function tellRefused(
  { notices, store }: Core,
  commands: Commands | null,
  { id, text, why }: { id: string; text: string; why: string },
): void {
  if (store.get().notebook.cells[id] !== undefined) {
    notices.add("error", `What was typed could not be stored: ${why}`);
    return;
  }
  const run = () => {
    commands?.createCell(store.get().notebook.order.length, "code", text).catch((error: Error) => {
      notices.add("error", `The cell could not be made: ${error.message}`);
    });
  };
  const action = { label: "Make a cell of it", run };
  notices.add("error", "A cell was deleted while you were changing it. Your text is not lost.", action);
}
