import { useEffect, useEffectEvent } from "react";
import type { CellVirtualizer } from "./cellDragArea";
import { scrollAlignmentOfCell } from "./cellLayout";
import { useNotebookContext, useViewState } from "./notebookContext";

/** How many milliseconds a revealed cell is kept in view while the cells around it are measured. */
const settleTimeoutMs = 1500;

/** DOM events with which a user scrolls. */
const scrollEvents = ["wheel", "pointerdown", "touchmove"] as const;

/**
 * Scrolls to the selected cell when that is requested. Keeps it in view until the cells around it,
 * whose heights were only estimated, are measured, or the user scrolls.
 */
export function useReveal(list: CellVirtualizer, scroller: HTMLElement | null): void {
  const { store, view } = useNotebookContext();
  const reveal = useViewState((state) => state.revealRequests);
  const scrollToSelected = useEffectEvent(() => {
    const { selected } = view.get();
    const place = selected === null ? -1 : store.get().notebook.order.indexOf(selected);
    list.getTotalSize(); // applies the newest measurements
    const cell = list.measurementsCache[place];
    const start = scroller?.scrollTop ?? 0;
    if (cell === undefined) return;
    const align = scrollAlignmentOfCell(cell, { start, end: start + (list.scrollRect?.height ?? 0) });
    if (align !== null) list.scrollToIndex(place, { align });
  });
  useEffect(() => {
    if (reveal === 0) return;
    scrollToSelected();
    if (scroller !== null) return onCellHeightChange(scroller, scrollToSelected);
  }, [reveal, scroller]);
}

/**
 * Calls f whenever the height of a cell changes, for 1.5 s, until the user scrolls or the returned
 * function is called.
 */
function onCellHeightChange(scroller: HTMLElement, f: () => void): () => void {
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
