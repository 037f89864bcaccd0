import { useEffect, useEffectEvent } from "react";
import { scrollAlignment } from "./cellLayout";
import type { CellVirtualizer } from "./cellListContext";
import { useNotebookContext, useView } from "./notebookContext";

/** How long a revealed cell is kept in view while the cells around it are measured. */
const settleTimeoutMs = 1500;

/** Events by which a user scrolls. */
const scrollEvents = ["wheel", "pointerdown", "touchmove"] as const;

/**
 * Scrolls to the selected cell when that is requested. Heights of cells that were never drawn are
 * estimates: until they are measured the cell is kept in view, unless the user scrolls.
 */
export function useReveal(list: CellVirtualizer, scroller: HTMLElement | null): void {
  const { store, view } = useNotebookContext();
  const reveal = useView((state) => state.revealRequests);
  const scrollToSelected = useEffectEvent(() => {
    const { selected } = view.get();
    const place = selected === null ? -1 : store.get().notebook.order.indexOf(selected);
    list.getTotalSize(); // applies the newest measurements
    const cell = list.measurementsCache[place];
    const start = scroller?.scrollTop ?? 0;
    if (cell === undefined) return;
    const align = scrollAlignment(cell, { start, end: start + (list.scrollRect?.height ?? 0) });
    if (align !== null) list.scrollToIndex(place, { align });
  });
  useEffect(() => {
    if (reveal === 0) return;
    scrollToSelected();
    if (scroller !== null) return onHeightChange(scroller, scrollToSelected);
  }, [reveal, scroller]);
}

/**
 * Calls f whenever a cell's height changes, for 1.5 s, until the user scrolls or the returned
 * function is called.
 */
function onHeightChange(scroller: HTMLElement, f: () => void): () => void {
  const heights = new ResizeObserver(f);
  for (const part of scroller.querySelectorAll("[role=list], [data-index]")) heights.observe(part);
  const stop = () => {
    clearTimeout(timer);
    heights.disconnect();
    for (const type of scrollEvents) scroller.removeEventListener(type, stop);
  };
  const timer = setTimeout(stop, settleTimeoutMs);
  for (const type of scrollEvents) scroller.addEventListener(type, stop, { passive: true });
  return stop;
}
