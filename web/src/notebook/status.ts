import type { Execution, State } from "../store/state";
import { executionOf } from "./cellSelectors";

/** The status of a cell. fresh: it has not been run on the current kernel. */
export type CellStatus = "fresh" | "waiting" | "running" | "ran" | "failed" | "interrupted";

/** The text that the page shows for each status of a cell. */
export const statusTexts: Record<CellStatus, string> = {
  fresh: "Not run",
  waiting: "Waiting to run",
  running: "Running",
  ran: "Ran",
  failed: "Failed",
  interrupted: "Interrupted",
};

export function statusOfCell(state: State, id: string): CellStatus {
  const run = executionOf(state, id);
  if (run === null) return "fresh";
  if (run.started) return "running";
  if (run.pending || state.notebook.queue.includes(id)) return "waiting";
  if (run.status === "error") return wasInterrupted(run) ? "interrupted" : "failed";
  return run.status === "ran" ? "ran" : "fresh";
}

/** Names of exceptions with which kernels report that a run was interrupted. */
const interruptExceptions: readonly unknown[] = ["KeyboardInterrupt", "InterruptException"];

function wasInterrupted(run: Execution): boolean {
  if (run.interrupted === true) return true;
  const error = run.outputs.findLast((output) => output.output_type === "error");
  return error?.output_type === "error" && interruptExceptions.includes(error.ename);
}

/**
 * Returns the text in brackets beside a cell: its run number, "*" while it is running, "…2" if it
 * is second in the queue, " " if it has not been run.
 */
export function executionPrompt(state: State, id: string): string {
  const run = executionOf(state, id);
  if (run?.started) return "*";
  const place = state.notebook.queue.indexOf(id) + 1;
  if (place > 0) return `…${place}`;
  if (run?.pending) return "…";
  return run !== null && run.count > 0 ? String(run.count) : " ";
}
