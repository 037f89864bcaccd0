import type { Store } from "../store/store";

/** When cells were last changed. Only changes that this page received while it was open are known. */
export interface ChangeTimes {
  /** Returns when the trace entry seq, which changed the cell, arrived; null: before the page was opened. */
  timeOf(id: string, seq: number): Date | null;
  /** Records changes of the store until the returned function is called. */
  follow(): () => void;
}

export function createChangeTimes(store: Store): ChangeTimes {
  const seen = new Map<string, { seq: number; at: Date | null }>();
  const recordTimes = (at: Date | null) => {
    const { cells, order } = store.get().notebook;
    for (const id of order) {
      const seq = Object.hasOwn(cells, id) ? cells[id]?.lastChange?.seq : undefined;
      if (seq !== undefined && seen.get(id)?.seq !== seq) seen.set(id, { seq, at });
    }
  };
  return {
    timeOf(id, seq) {
      const touch = seen.get(id);
      return touch?.seq === seq ? touch.at : null;
    },
    follow() {
      recordTimes(null);
      let known = store.get().notebook;
      return store.subscribe(() => {
        const { notebook } = store.get();
        const [before, now] = [known, notebook];
        known = notebook;
        if (now.cells === before.cells) return;
        recordTimes(before.seq === 0 ? null : new Date());
      });
    },
  };
}
