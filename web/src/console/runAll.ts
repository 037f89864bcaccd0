import type { Execution, State } from "../store/state";
import type { Store } from "../store/store";
import { codeCells } from "./kernel";

/** The current cell and the number of cells, from 1. */
export interface Progress {
  at: number;
  of: number;
}

export interface RunAllConfig {
  store: Store;
  run(id: string): void;
  /** null: finished. */
  onProgress(progress: Progress | null): void;
  /** Called with the cell and the reason if the run ends before the last cell. */
  onStopped(id: string, why: string): void;
}

/** How long to wait for a cell's run to start, in milliseconds. Edits are saved before it. */
const patience = 20_000;

/**
 * Runs all code cells in order, each after the previous one has run, and stops at the first that
 * fails, so that later cells do not start. Cells deleted meanwhile are skipped. The returned
 * function ends this; a running cell goes on.
 */
export function runAll({ store, run, onProgress, onStopped }: RunAllConfig): () => void {
  const ids = codeCells(store.get().notebook);
  let place = -1;
  let before: Execution | undefined;
  let begun = false;
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
      `Run all has stopped at ${nameOf(store.get(), id)}, ${why}. ${restWords(ids.length - place - 1)}`.trim(),
    );
  };
  const next = () => {
    clearTimeout(timer);
    const { cells, executions } = store.get().notebook;
    place = ids.findIndex((id, at) => at > place && Object.hasOwn(cells, id));
    const id = ids[place];
    if (id === undefined) return end();
    before = executions[id];
    begun = false;
    timer = setTimeout(() => stop(id, "which has not begun to run"), patience);
    onProgress({ at: place + 1, of: ids.length });
    run(id);
  };
  const look = () => {
    const id = ids[place];
    if (id === undefined) return;
    const { cells, executions, kernel } = store.get().notebook;
    if (!Object.hasOwn(cells, id)) return next();
    const now = executions[id];
    if (now?.status === "running") {
      begun = true;
      clearTimeout(timer);
    } else if (begun || hasRunAgain(now, before)) {
      if (now?.status === "ran" && hasRunAgain(now, before)) next();
      else stop(id, problemOf(now, kernel));
    }
  };
  const unsubscribe = store.subscribe(look);
  next();
  return end;
}

function hasRunAgain(now: Execution | undefined, before: Execution | undefined): boolean {
  return now?.count !== before?.count || now?.sequencer !== before?.sequencer;
}

function problemOf(run: Execution | undefined, kernel: State["notebook"]["kernel"]): string {
  if (kernel === "dead") return "where the kernel has died";
  if (run?.interrupted === true) return "which was interrupted";
  return run?.status === "error" ? "which has raised an error" : "which could not be run";
}

function nameOf({ notebook }: State, id: string): string {
  return `cell ${notebook.order.indexOf(id) + 1}`;
}

/** Returns a text about the cells that were not run. */
function restWords(cells: number): string {
  if (cells === 0) return "";
  return cells === 1 ? "The cell behind it was not run." : `The ${cells} cells behind it were not run.`;
}
