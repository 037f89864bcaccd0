import type { State } from "../store/state";

/** What the kernel does: it starts, has nothing to do, executions a cell, is gone, or has ended with the attempt. */
export type KernelState = "starting" | "idle" | "running" | "dead" | "ended";

export function kernelState({ notebook, verdict }: State): KernelState {
  if (notebook.kernel === "dead") return verdict === null ? "dead" : "ended";
  if (busyCells(notebook).length > 0) return "running";
  return notebook.kernel === "running" ? "idle" : "starting";
}

/** Ids of the cells that run or wait to. */
export function busyCells(notebook: State["notebook"]): string[] {
  return notebook.order.filter((id) => notebook.executions[id]?.status === "running");
}

/** Ids of the cells that can be run, in order. */
export function codeCells(notebook: State["notebook"]): string[] {
  return notebook.order.filter((id) => notebook.cells[id]?.type === "code");
}

/** There is a kernel, and a cell shows what one before it has made. */
export function showsOlder({ notebook }: State): boolean {
  if (notebook.kernel !== "running") return false;
  return codeCells(notebook).some((id) => {
    const run = notebook.executions[id];
    return run !== undefined && run.outputs.length > 0 && run.count > 0 && run.sequencer === 0 && !run.pending;
  });
}
