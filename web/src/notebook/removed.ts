// Cells that were deleted, kept to be brought back.

import type { CellType } from "../protocol/messages";
import type { State } from "../store/state";
import { cellOf, runOf, titleOf } from "./text";

/** A deleted cell: what it was, and where it stood. */
export interface Removed {
  id: string;
  type: CellType;
  source: string;
  title: string;
  /** It showed outputs, which do not come back. */
  hadOutputs: boolean;
  position: number;
  before: string | null;
  after: string | null;
}

/** The cell as it is now; null when there is none. order is that of the notebook in which it stands. */
export function removedCell(state: State, id: string, source: string): Removed | null {
  const { order } = state.notebook;
  const cell = cellOf(state, id);
  const position = order.indexOf(id);
  if (cell === null || position < 0) return null;
  return {
    id,
    type: cell.type,
    source,
    title: titleOf(state, id),
    hadOutputs: (runOf(state, id)?.outputs.length ?? 0) > 0,
    position,
    before: order[position - 1] ?? null,
    after: order[position + 1] ?? null,
  };
}

/** Where the cell goes when it comes back: beside the neighbours it had, where one is left. */
export function placeOf(removed: Removed, order: readonly string[]): number {
  const before = removed.before === null ? -1 : order.indexOf(removed.before);
  if (before >= 0) return before + 1;
  const after = removed.after === null ? -1 : order.indexOf(removed.after);
  if (after >= 0) return after;
  return Math.min(removed.position, order.length);
}

/**
 * Cells that were deleted, or asked to be, newest last. One that is still in the
 * notebook was not deleted after all. At most so many are kept.
 */
export interface Bin {
  put(removed: Removed): void;
  /**
   * The newest, or the given one, taken out; null: it is not there. order is that
   * of the notebook: what stands in it has nothing to come back from.
   */
  take(order: readonly string[], which?: Removed): Removed | null;
  /** A cell has come back as another: those deleted beside it find it under its new id. */
  rename(from: string, to: string): void;
}

const maxRemoved = 200;

export function createBin(): Bin {
  let all: Removed[] = [];
  return {
    put(removed) {
      const others = all.filter(({ id }) => id !== removed.id);
      all = [...others.slice(1 - maxRemoved), removed];
    },
    take(order, which) {
      const gone = (removed: Removed) => !order.includes(removed.id);
      const found = all.findLast((removed) => gone(removed) && removed.id === (which ?? removed).id);
      all = all.filter((removed) => removed !== found);
      return found ?? null;
    },
    rename(from, to) {
      const renamed = (id: string | null) => (id === from ? to : id);
      all = all.map((each) => ({ ...each, before: renamed(each.before), after: renamed(each.after) }));
    },
  };
}
