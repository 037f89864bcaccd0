// Dragging a cell to another position.

import { moveCellTo } from "./cellCommands";
import type { CellListHandle } from "./cellListContext";
import type { NotebookContext } from "./notebookContext";

/** Distance from an edge of the list, in pixels, at which dragging scrolls it. */
const scrollZone = 48;
/** Scroll speed at the very edge, in pixels per frame. */
const maxScrollStep = 18;

/** Returns how far the list scrolls in one frame for a pointer at y; 0 away from its edges. All in pixels. */
export function scrollStep(y: number, top: number, bottom: number): number {
  const above = top + scrollZone - y;
  const below = y - (bottom - scrollZone);
  const depth = above > 0 ? -above : Math.max(0, below);
  return Math.round((Math.max(-scrollZone, Math.min(scrollZone, depth)) / scrollZone) * maxScrollStep);
}

/** Returns the new index of a cell that is moved from index `from` to before the one at index `before`. */
export function indexAfterDrop(from: number, before: number): number {
  return before > from ? before - 1 : before;
}

/** A drag of one cell. It begins when the pointer goes down. */
export interface Drag {
  moveTo(clientY: number): void;
  drop(): void;
  cancel(): void;
}

export function startDrag(context: NotebookContext, list: CellListHandle, id: string): Drag {
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
