// Deleted cells, kept so that they can be restored.

import type { CellType } from "../protocol/messages";
import type { State } from "../store/state";
import { cellOf, executionOf, titleOf } from "./cellSelectors";

/** A deleted cell with what is needed to restore it at its position. */
export interface DeletedCell {
  id: string;
  type: CellType;
  source: string;
  title: string;
  /** It had outputs, which are not restored. */
  hadOutputs: boolean;
  position: number;
  previousId: string | null;
  nextId: string | null;
}

/**
 * Returns what is needed to restore a cell of the notebook; null if there is no such cell. source
 * is the cell's text on this page.
 */
export function deletedCellOf(state: State, id: string, source: string): DeletedCell | null {
  const { order } = state.notebook;
  const cell = cellOf(state, id);
  const position = order.indexOf(id);
  if (cell === null || position < 0) return null;
  return {
    id,
    type: cell.type,
    source,
    title: titleOf(state, id),
    hadOutputs: (executionOf(state, id)?.outputs.length ?? 0) > 0,
    position,
    previousId: order[position - 1] ?? null,
    nextId: order[position + 1] ?? null,
  };
}

/**
 * Returns the index at which to restore a deleted cell: next to a former neighbour that still
 * exists, else its former index.
 */
export function restoreIndexOfCell(removed: DeletedCell, order: readonly string[]): number {
  const before = removed.previousId === null ? -1 : order.indexOf(removed.previousId);
  if (before >= 0) return before + 1;
  const after = removed.nextId === null ? -1 : order.indexOf(removed.nextId);
  if (after >= 0) return after;
  return Math.min(removed.position, order.length);
}

/**
 * The deleted cells, and cells whose deletion was requested, newest last. At most maxDeletedCells
 * are kept.
 */
export interface DeletedCells {
  add(removed: DeletedCell): void;
  /**
   * Removes and returns the given cell, or the newest one; null if there is none. order has the
   * cells in the notebook: those are not deleted and never returned.
   */
  take(order: readonly string[], which?: DeletedCell): DeletedCell | null;
  /** A cell was restored under a new id: updates deleted cells that have it as a neighbour. */
  replaceId(from: string, to: string): void;
}

const maxDeletedCells = 200;

export function createDeletedCells(): DeletedCells {
  let all: DeletedCell[] = [];
  return {
    add(removed) {
      const others = all.filter(({ id }) => id !== removed.id);
      all = [...others.slice(1 - maxDeletedCells), removed];
    },
    take(order, which) {
      const gone = (removed: DeletedCell) => !order.includes(removed.id);
      const found = all.findLast((removed) => gone(removed) && removed.id === (which ?? removed).id);
      all = all.filter((removed) => removed !== found);
      return found ?? null;
    },
    replaceId(from, to) {
      const renamed = (id: string | null) => (id === from ? to : id);
      all = all.map((each) => ({ ...each, before: renamed(each.previousId), after: renamed(each.nextId) }));
    },
  };
}
