// Dragging a cell to another position.

import { moveCellTo } from "./cellCommands";
import type { CellDragArea } from "./cellDragArea";
import type { NotebookContext } from "./notebookContext";

/** Distance from the edge of the list, in pixels, within which dragging scrolls it. */
const scrollZonePx = 48;
/** Scroll speed when the pointer is at the edge of the list, in pixels per frame. */
const maxScrollStepPx = 18;

/** Returns how many pixels the list scrolls in one frame for a pointer at y; 0 if it is not near an edge. */
export function scrollStep(y: number, top: number, bottom: number): number {
  const above = top + scrollZonePx - y;
  const below = y - (bottom - scrollZonePx);
  const depth = above > 0 ? -above : Math.max(0, below);
  return Math.round((Math.max(-scrollZonePx, Math.min(scrollZonePx, depth)) / scrollZonePx) * maxScrollStepPx);
}

/** Returns the new index of a cell that is moved from index `from` to before the cell at index `before`. */
export function indexAfterDrop(from: number, before: number): number {
  return before > from ? before - 1 : before;
}

/** A drag of one cell, from the press of the pointer to its release. */
export interface Drag {
  moveTo(clientY: number): void;
  drop(): void;
  cancel(): void;
}

export function startCellDrag(context: NotebookContext, list: CellDragArea, id: string): Drag {
  let y: number | null = null;
  let frame = 0;
  const updateDropIndex = () => {
    if (y !== null) context.view.set({ dropIndex: list.insertIndexAt(y) });
  };
  const scroll = () => {
    frame = 0;
    const { scroller } = list;
    if (y === null || scroller === null) return;
    const { top, bottom } = scroller.getBoundingClientRect();
    const step = scrollStep(y, top, bottom);
    if (step === 0) return;
    scroller.scrollTop += step;
    updateDropIndex();
    frame = requestAnimationFrame(scroll);
  };
  const end = () => {
    cancelAnimationFrame(frame);
    y = null;
    context.view.set({ dropIndex: null });
  };
  return {
    moveTo(clientY) {
      y = clientY;
      updateDropIndex();
      if (frame === 0) frame = requestAnimationFrame(scroll);
    },
    drop() {
      const before = context.view.get().dropIndex;
      const from = context.store.get().notebook.order.indexOf(id);
      end();
      if (before !== null && from >= 0) moveCellTo(context, id, indexAfterDrop(from, before));
    },
    cancel: end,
  };
}
