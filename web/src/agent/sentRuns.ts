import { copyOf } from "../json/record";
import type { Run, State } from "../store/state";
import type { Store } from "../store/store";

/**
 * The cells that this page has sent to be run and of which nothing was heard yet.
 * They are shown as waiting from when they are sent.
 */
export class SentRuns {
  /** By cell id: the run as it was when another one was asked for. */
  private readonly sent = new Map<string, Run | undefined>();

  constructor(private readonly store: Store) {}

  add(id: string): void {
    this.sent.set(id, this.store.get().notebook.runs[id]);
  }

  /** Forgets the cells of which something was heard. */
  private settle({ notebook }: State): void {
    for (const [id, before] of this.sent) {
      const run = notebook.runs[id];
      const heard = run === undefined || !run.pending || run.started || notebook.queue.includes(id);
      if (heard || (run.sequencer !== before?.sequencer && run.sequencer > 0)) this.sent.delete(id);
    }
  }

  /** The server could not do something: what was sent is not waiting any more. Runs that do are told of anew. */
  withdraw(): void {
    this.settle(this.store.get());
    this.store.update((state) => {
      const runs = copyOf(state.notebook.runs);
      for (const [id, before] of this.sent) {
        const run = runs[id];
        if (run !== undefined) runs[id] = { ...run, pending: false, status: before?.status ?? "idle" };
      }
      return this.sent.size === 0 ? state : { ...state, notebook: { ...state.notebook, runs } };
    });
    this.sent.clear();
  }

  /** The connection is lost; returns what tells, when the state is known again, which cells were not run after all. */
  lost(): () => string[] {
    this.settle(this.store.get());
    const asked = [...this.sent];
    this.sent.clear();
    return () => {
      const { runs } = this.store.get().notebook;
      return asked.filter(([id, before]) => isAsBefore(runs[id], before)).map(([id]) => id);
    };
  }
}

function isAsBefore(run: Run | undefined, before: Run | undefined): boolean {
  if (run === undefined) return true;
  return run.status !== "running" && run.sequencer === (before?.sequencer ?? 0);
}
