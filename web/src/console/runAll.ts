import type { Execution, State } from "../store/state";
import type { Store } from "../store/store";
import { codeCellIds } from "./kernelState";

/** The current cell and the number of cells, from 1. */
export interface RunAllProgress {
  cellNumber: number;
  cellCount: number;
}

export interface RunAllConfig {
  store: Store;
  run(id: string): void;
  /** null: finished. */
  onProgress(progress: RunAllProgress | null): void;
  /** Called with the cell and the reason if the run ends before the last cell. */
  onStopped(id: string, why: string): void;
}

/** How long to wait for a cell's run to start, in milliseconds. Edits are saved before it. */
const startTimeout = 20_000;

/**
 * Runs all code cells in order, each after the previous one has run, and stops at the first that
 * fails, so that later cells do not start. Cells deleted meanwhile are skipped. The returned
 * function ends this; a running cell goes on.
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
      `Run all has stopped at ${cellNameOf(store.get(), id)}, ${why}. ${notRunText(ids.length - currentIndex - 1)}`.trim(),
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
    timer = setTimeout(() => stop(id, "which has not begun to run"), startTimeout);
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
    } else if (hasStarted || hasRunAgain(now, executionBefore)) {
      if (now?.status === "ran" && hasRunAgain(now, executionBefore)) runNextCell();
      else stop(id, failureText(now, kernel));
    }
  };
  const unsubscribe = store.subscribe(checkCurrentCell);
  runNextCell();
  return end;
}

function hasRunAgain(now: Execution | undefined, before: Execution | undefined): boolean {
  return now?.count !== before?.count || now?.sequencer !== before?.sequencer;
}

function failureText(run: Execution | undefined, kernel: State["notebook"]["kernel"]): string {
  if (kernel === "dead") return "where the kernel has died";
  if (run?.interrupted === true) return "which was interrupted";
  return run?.status === "error" ? "which has raised an error" : "which could not be run";
}

function cellNameOf({ notebook }: State, id: string): string {
  return `cell ${notebook.order.indexOf(id) + 1}`;
}

/** Returns a text about the cells that were not run. */
function notRunText(cells: number): string {
  if (cells === 0) return "";
  return cells === 1 ? "The cell behind it was not run." : `The ${cells} cells behind it were not run.`;
}
