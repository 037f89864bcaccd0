import type { State } from "../store/state";

/** The kernel's state. "running": a cell is running or queued. "ended": it ended with the attempt, and is not expected to run. */
export type KernelState = "starting" | "idle" | "running" | "dead" | "ended";

/** Returns the kernel's state for display. */
export function kernelState({ notebook, verdict }: State): KernelState {
  if (notebook.kernel === "dead") return verdict === null ? "dead" : "ended";
  if (busyCellIds(notebook).length > 0) return "running";
  return notebook.kernel === "running" ? "idle" : "starting";
}

/** Returns the ids of the cells that are running or queued. */
export function busyCellIds(notebook: State["notebook"]): string[] {
  return notebook.order.filter((id) => notebook.executions[id]?.status === "running");
}

/** Returns the ids of the code cells, in order. */
export function codeCellIds(notebook: State["notebook"]): string[] {
  return notebook.order.filter((id) => notebook.cells[id]?.type === "code");
}

/** Reports whether a kernel is running and a code cell still shows outputs of an earlier kernel. */
export function showsOutputsOfOlderKernel({ notebook }: State): boolean {
  if (notebook.kernel !== "running") return false;
  return codeCellIds(notebook).some((id) => {
    const run = notebook.executions[id];
    return run !== undefined && run.outputs.length > 0 && run.count > 0 && run.sequencer === 0 && !run.pending;
  });
}
