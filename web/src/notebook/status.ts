import type { Run, State } from "../store/state";
import { runOf } from "./text";

/** How a cell stands: fresh: it has not run on this kernel. */
export type CellStatus = "fresh" | "waiting" | "running" | "ran" | "failed" | "interrupted";

export const statusWords: Record<CellStatus, string> = {
  fresh: "Not run",
  waiting: "Waiting to run",
  running: "Running",
  ran: "Ran",
  failed: "Failed",
  interrupted: "Interrupted",
};

export function statusOf(state: State, id: string): CellStatus {
  const run = runOf(state, id);
  if (run === null) return "fresh";
  if (run.started) return "running";
  if (run.pending || state.notebook.queue.includes(id)) return "waiting";
  if (run.status === "error") return wasInterrupted(run) ? "interrupted" : "failed";
  return run.status === "ran" ? "ran" : "fresh";
}

/** What kernels call the exception by which a run was interrupted. */
const interrupts: readonly unknown[] = ["KeyboardInterrupt", "InterruptException"];

function wasInterrupted(run: Run): boolean {
  if (run.interrupted === true) return true;
  const error = run.outputs.findLast((output) => output.output_type === "error");
  return error?.output_type === "error" && interrupts.includes(error.ename);
}

/** What stands in brackets beside the cell: its run number, "*" while it runs, "…2" when it is the second to wait. */
export function promptOf(state: State, id: string): string {
  const run = runOf(state, id);
  if (run?.started) return "*";
  const place = state.notebook.queue.indexOf(id) + 1;
  if (place > 0) return `…${place}`;
  if (run?.pending) return "…";
  return run !== null && run.count > 0 ? String(run.count) : " ";
}

/** A time that something took: "320 ms", "1.2 s", "2 min 5 s". */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
