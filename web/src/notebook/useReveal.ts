import { useEffect, useEffectEvent } from "react";
import { useDesk, useView } from "./desk";
import type { List } from "./list";
import { alignTo } from "./place";

/** So long, in milliseconds, a cell that was brought into view is kept there while the cells around it get their heights. */
const settleMs = 1500;

/** What a person does who scrolls. */
const scrolling = ["wheel", "pointerdown", "touchmove"] as const;

/**
 * Brings the selected cell into view when that is asked for. The heights of cells
 * that were not drawn before are guesses: until they are measured the cell is kept
 * in view, unless the person scrolls.
 */
export function useReveal(list: List, scroller: HTMLElement | null): void {
  const { store, view } = useDesk();
  const reveal = useView((state) => state.reveal);
  const show = useEffectEvent(() => {
    const { selected } = view.get();
    const place = selected === null ? -1 : store.get().notebook.order.indexOf(selected);
    list.getTotalSize(); // takes in what was measured just now
    const cell = list.measurementsCache[place];
    const start = scroller?.scrollTop ?? 0;
    if (cell === undefined) return;
    const align = alignTo(cell, { start, end: start + (list.scrollRect?.height ?? 0) });
    if (align !== null) list.scrollToIndex(place, { align });
  });
  useEffect(() => {
    if (reveal === 0) return;
    show();
    if (scroller !== null) return whileSettling(scroller, show);
  }, [reveal, scroller]);
}

/** Calls f when a cell of the list gets another height, for a while, until the person scrolls or what it returns is called. */
function whileSettling(scroller: HTMLElement, f: () => void): () => void {
  const heights = new ResizeObserver(f);
  for (const part of scroller.querySelectorAll("[role=list], [data-index]")) heights.observe(part);
  const stop = () => {
    clearTimeout(timer);
    heights.disconnect();
    for (const type of scrolling) scroller.removeEventListener(type, stop);
  };
  const timer = setTimeout(stop, settleMs);
  for (const type of scrolling) scroller.addEventListener(type, stop, { passive: true });
  return stop;
}
