import type { Execution, State } from "../store/state";
import type { Store } from "../store/store";
import { codeCellIds } from "./kernelState";

/** How far a run of all cells is. */
export interface RunAllProgress {
  /** Number of the current code cell, from 1. */
  cellNumber: number;
  /** Number of code cells to run. */
  cellCount: number;
}

/** What runAll needs, and the functions that it calls. */
export interface RunAllConfig {
  store: Store;
  /** Runs one cell. */
  run(id: string): void;
  /** Receives the progress when a cell is started; null when the run has ended. */
  onProgress(progress: RunAllProgress | null): void;
  /** Called with the current cell and a text for the user if the run stops before the last cell has run. */
  onStopped(id: string, why: string): void;
}

/** How long to wait for a cell to start, in milliseconds. Unsaved edits are saved before it starts. */
const cellStartTimeout = 20_000;

/**
 * Runs all code cells in order, each after the previous one has ended, and stops at the first that
 * fails or does not start within 20 s. Cells that are deleted meanwhile are skipped. The returned function ends
 * the run of all cells, but does not interrupt the current cell.
 */
export function runAll({ store, run, onProgress, onStopped }: RunAllConfig): () => void {
  const ids = codeCellIds(store.get().notebook);
  let currentIndex = -1;
  let executionBefore: Execution | undefined;
  let hasStarted = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const end = () => {
    clearTimeout(timer);
    unsubscribe();
    onProgress(null);
  };
  const stop = (id: string, why: string) => {
    end();
    onStopped(
      id,
      `Run all stopped at ${cellNameOf(store.get(), id)}, ${why}. ${cellsNotRunText(ids.length - currentIndex - 1)}`.trim(),
    );
  };
  const runNextCell = () => {
    clearTimeout(timer);
    const { cells, executions } = store.get().notebook;
    currentIndex = ids.findIndex((id, at) => at > currentIndex && Object.hasOwn(cells, id));
    const id = ids[currentIndex];
    if (id === undefined) return end();
    executionBefore = executions[id];
    hasStarted = false;
    timer = setTimeout(() => stop(id, "which did not start"), cellStartTimeout);
    onProgress({ cellNumber: currentIndex + 1, cellCount: ids.length });
    run(id);
  };
  const checkCurrentCell = () => {
    const id = ids[currentIndex];
    if (id === undefined) return;
    const { cells, executions, kernel } = store.get().notebook;
    if (!Object.hasOwn(cells, id)) return runNextCell();
    const now = executions[id];
    if (now?.status === "running") {
      hasStarted = true;
      clearTimeout(timer);
    } else if (hasStarted || hasCellRunAgain(now, executionBefore)) {
      if (now?.status === "ran" && hasCellRunAgain(now, executionBefore)) runNextCell();
      else stop(id, whyCellFailedText(now, kernel));
    }
  };
  const unsubscribe = store.subscribe(checkCurrentCell);
  runNextCell();
  return end;
}

/** Reports whether a cell has started since `before`: its execution count or sequence number differs. */
function hasCellRunAgain(now: Execution | undefined, before: Execution | undefined): boolean {
  return now?.count !== before?.count || now?.sequencer !== before?.sequencer;
}

/** Returns why a cell did not run to its end, as a clause that follows the cell's name. */
function whyCellFailedText(run: Execution | undefined, kernel: State["notebook"]["kernel"]): string {
  if (kernel === "dead") return "because the kernel ended";
  if (run?.interrupted === true) return "which was interrupted";
  return run?.status === "error" ? "which raised an error" : "which could not run";
}

function cellNameOf({ notebook }: State, id: string): string {
  return `cell ${notebook.order.indexOf(id) + 1}`;
}

/** Returns a sentence about the remaining cells, which did not run; "" if there are none. */
function cellsNotRunText(cells: number): string {
  if (cells === 0) return "";
  return cells === 1 ? "The cell after it did not run." : `The ${cells} cells after it did not run.`;
}
