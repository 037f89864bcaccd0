import type { Execution, State } from "../store/state";
import type { Store } from "../store/store";
import { codeCells } from "./kernel";

/** How far it is: which of how many cells, from 1. */
export interface Progress {
  at: number;
  of: number;
}

export interface RunAllConfig {
  store: Store;
  run(id: string): void;
  /** null: it is over. */
  onProgress(progress: Progress | null): void;
  /** It has ended before its last cell: at which one, and why, for people. */
  onStopped(id: string, why: string): void;
}

/** How long a cell may take until something is heard of its run, in milliseconds: what was typed is stored first. */
const patience = 20_000;

/**
 * Runs all code cells in order, each when the one before has run, and stops at the
 * first that fails: what comes behind it is not begun at all. Cells that are deleted
 * meanwhile are passed over. What it returns ends it, and leaves what executions alone.
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

/** What has become of the cells behind it. */
function restWords(cells: number): string {
  if (cells === 0) return "";
  return cells === 1 ? "The cell behind it was not run." : `The ${cells} cells behind it were not run.`;
}
