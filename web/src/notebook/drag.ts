// Dragging a cell to another place.

import { moveTo } from "./change";
import type { Desk } from "./desk";
import type { ListHandle } from "./list";

/** So near to the edge (pixels) the list scrolls on. */
const edge = 48;
/** Pixels per frame at the very edge. */
const fastest = 18;

/** How far the list scrolls in a frame when the pointer is there; 0 away from its edges. */
export function scrollStep(y: number, top: number, bottom: number): number {
  const above = top + edge - y;
  const below = y - (bottom - edge);
  const depth = above > 0 ? -above : Math.max(0, below);
  return Math.round((Math.max(-edge, Math.min(edge, depth)) / edge) * fastest);
}

/** The place that a cell has when it is taken out and put before the one that was at `before`. */
export function placeAfterDrop(from: number, before: number): number {
  return before > from ? before - 1 : before;
}

/** One drag of a cell, from the moment that the pointer went down. */
export interface Drag {
  to(clientY: number): void;
  drop(): void;
  cancel(): void;
}

export function startDrag(desk: Desk, list: ListHandle, id: string): Drag {
  let y: number | null = null;
  let frame = 0;
  const show = () => {
    if (y !== null) desk.view.set({ drop: list.placeAt(y) });
  };
  const scroll = () => {
    frame = 0;
    const { scroller } = list;
    if (y === null || scroller === null) return;
    const { top, bottom } = scroller.getBoundingClientRect();
    const step = scrollStep(y, top, bottom);
    if (step === 0) return;
    scroller.scrollTop += step;
    show();
    frame = requestAnimationFrame(scroll);
  };
  const end = () => {
    cancelAnimationFrame(frame);
    y = null;
    desk.view.set({ drop: null });
  };
  return {
    to(clientY) {
      y = clientY;
      show();
      if (frame === 0) frame = requestAnimationFrame(scroll);
    },
    drop() {
      const before = desk.view.get().drop;
      const from = desk.store.get().notebook.order.indexOf(id);
      end();
      if (before !== null && from >= 0) moveTo(desk, id, placeAfterDrop(from, before));
    },
    cancel: end,
  };
}
