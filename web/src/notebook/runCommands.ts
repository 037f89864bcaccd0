// Running and stopping cells.

import type { Commands } from "../commands/commands";
import { insertCell, selectNextOrCreate } from "./cellCommands";
import { executionOf, isMarkdown } from "./cellSelectors";
import type { NotebookContext } from "./notebookContext";
import { closeCellEditor } from "./selection";

/** Returns why cells cannot be run on this page; null if they can. */
export function whyCannotRunCells(commands: Commands | null): string | null {
  if (commands === null) return "Read-only.";
  return commands.canRun ? null : (commands.runProblem ?? "Cells cannot run here.");
}

/**
 * Runs the given or the selected cell; closes the editor of a Markdown cell. Returns false if the
 * cell cannot be run.
 */
export function runCell(context: NotebookContext, id = context.view.get().selected): boolean {
  if (id === null) return false;
  if (isMarkdown(context.store.get(), id)) {
    closeCellEditor(context);
    return true;
  }
  if (!checkCanRun(context)) return false;
  context.commands()?.runCell(id);
  return true;
}

/** Runs the selected cell and keeps it selected. */
export function runSelectedCell(context: NotebookContext): void {
  if (runCell(context)) closeCellEditor(context);
}

/** Runs the selected cell and selects the next one. */
export function runAndSelectNext(context: NotebookContext): void {
  if (runCell(context)) selectNextOrCreate(context);
}

/** Runs the selected cell and inserts a cell below. */
export function runAndInsertBelow(context: NotebookContext): void {
  if (runCell(context)) insertCell(context, 1, context.view.get().selected, true);
}

/** Interrupts the running cell; if none is running, removes the selected cell from the queue. */
export function interruptRunningCell(context: NotebookContext): void {
  if (!checkCanRun(context)) return;
  const { notebook } = context.store.get();
  const { selected } = context.view.get();
  const running = notebook.order.find((id) => executionOf(context.store.get(), id)?.started);
  const id = running ?? (selected !== null && executionOf(context.store.get(), selected)?.pending ? selected : null);
  if (id === null) context.view.set({ note: { tone: "neutral", text: "No cell is running." } });
  else context.commands()?.stopCell(id);
}

/** Interrupts a cell if it is running, or removes it from the queue. */
export function interruptCell(context: NotebookContext, id: string): void {
  if (checkCanRun(context)) context.commands()?.stopCell(id);
}

/** Opens the dialog that asks for confirmation before it restarts the kernel. */
export function openRestartDialog(context: NotebookContext): void {
  if (context.commands()?.canRestart === true || checkCanRun(context)) context.view.set({ dialog: "restart" });
}

/** Returns whether cells can be run on this page. If not, shows the reason as a note. */
function checkCanRun(context: NotebookContext): boolean {
  const why = whyCannotRunCells(context.commands());
  if (why !== null) context.view.set({ note: { tone: "neutral", text: why } });
  return why === null;
}
