import type { Store } from "../store/store";

/** When cells were changed, as far as it was seen on this screen. */
export interface Touches {
  /** The time of day at which the entry of the trace came that changed the cell; null: it was there before. */
  at(id: string, seq: number): Date | null;
  /** Follows the store until what it returns is called. */
  follow(): () => void;
}

export function createTouches(store: Store): Touches {
  const seen = new Map<string, { seq: number; at: Date | null }>();
  const look = (at: Date | null) => {
    const { cells, order } = store.get().notebook;
    for (const id of order) {
      const seq = Object.hasOwn(cells, id) ? cells[id]?.touched?.seq : undefined;
      if (seq !== undefined && seen.get(id)?.seq !== seq) seen.set(id, { seq, at });
    }
  };
  return {
    at(id, seq) {
      const touch = seen.get(id);
      return touch?.seq === seq ? touch.at : null;
    },
    follow() {
      look(null);
      let known = store.get().notebook;
      return store.subscribe(() => {
        const { notebook } = store.get();
        const [before, now] = [known, notebook];
        known = notebook;
        if (now.cells === before.cells) return;
        look(before.seq === 0 ? null : new Date());
      });
    },
  };
}
