// Running cells, and stopping them.

import type { Commands } from "../commands/commands";
import { goOn, insert } from "./change";
import type { Desk } from "./desk";
import { leave } from "./select";
import { isMarkdown, runOf } from "./text";

/** Why cells cannot be run here; null: they can. */
export function whyNotRun(commands: Commands | null): string | null {
  if (commands === null) return "This notebook is only looked at.";
  return commands.canRun ? null : (commands.runProblem ?? "Cells cannot be run here.");
}

/** Runs the cell, or the selected one; a Markdown cell is drawn. False: it cannot be run. */
export function run(desk: Desk, id = desk.view.get().selected): boolean {
  if (id === null) return false;
  if (isMarkdown(desk.store.get(), id)) {
    leave(desk);
    return true;
  }
  if (!allowed(desk)) return false;
  desk.commands()?.runCell(id);
  return true;
}

/** Runs the selected cell and stays at it. */
export function runHere(desk: Desk): void {
  if (run(desk)) leave(desk);
}

/** Runs the selected cell and goes to the next. */
export function runAndGoOn(desk: Desk): void {
  if (run(desk)) goOn(desk);
}

/** Runs the selected cell and begins another below. */
export function runAndInsert(desk: Desk): void {
  if (run(desk)) insert(desk, 1, desk.view.get().selected, true);
}

/** Stops the cell that runs; where none does, the selected one if it waits. */
export function interrupt(desk: Desk): void {
  if (!allowed(desk)) return;
  const { notebook } = desk.store.get();
  const { selected } = desk.view.get();
  const running = notebook.order.find((id) => runOf(desk.store.get(), id)?.started);
  const id = running ?? (selected !== null && runOf(desk.store.get(), selected)?.pending ? selected : null);
  if (id === null) desk.view.set({ note: { tone: "neutral", text: "No cell runs." } });
  else desk.commands()?.stopCell(id);
}

/** Stops the cell, or takes it out of those that wait. */
export function interruptCell(desk: Desk, id: string): void {
  if (allowed(desk)) desk.commands()?.stopCell(id);
}

/** Asks before it restarts the kernel. */
export function askRestart(desk: Desk): void {
  if (desk.commands()?.canRestart === true || allowed(desk)) desk.view.set({ dialog: "restart" });
}

function allowed(desk: Desk): boolean {
  const why = whyNotRun(desk.commands());
  if (why !== null) desk.view.set({ note: { tone: "neutral", text: why } });
  return why === null;
}
