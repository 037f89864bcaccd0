import { type RefObject, useEffect, useLayoutEffect, useReducer, useRef, useState } from "react";
import { RowGeometry } from "./rowGeometry";

/** After a pause in scrolling of this many milliseconds, the scrollbar is moved to the exact position. */
const scrollPauseMs = 200;

export interface ScrolledRows {
  scroller: RefObject<HTMLDivElement | null>;
  geometry: RowGeometry;
  onScroll: () => void;
  /** Scrolls a row into view, or to the middle if it is far away. */
  scrollToRow: (row: number) => void;
  scrollToEnd: () => void;
  /** Number of rows when the user scrolled away from the end; null: at the end. */
  rowsWhenLeftEnd: number | null;
}

/**
 * Scrolls a list of rows of equal height below a heading, and keeps it at its end when rows are
 * added while it is scrolled there. With fromEnd it starts at the end, unless the rows fill less
 * than two screens.
 */
export function useScrolledRows(count: number, rowHeight: number, headHeight: number, fromEnd: boolean): ScrolledRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [geometry] = useState(() => new RowGeometry(rowHeight));
  const [viewport, setViewport] = useState(0);
  const [left, setLeft] = useState<number | null>(fromEnd ? null : 0);
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const rest = useRef<ReturnType<typeof setTimeout>>(undefined);
  const begun = useRef(false);
  geometry.resize(count, viewport);

  const goTo = (top: number) => {
    if (scroller.current !== null) scroller.current.scrollTop = geometry.goTo(top);
    draw();
  };
  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    geometry.onScrolledTo(element.scrollTop);
    const atEnd = geometry.top >= geometry.maxTop - rowHeight / 2;
    setLeft((before) => (atEnd ? null : (before ?? count)));
    clearTimeout(rest.current);
    if (geometry.needsRescroll) goTo(geometry.top);
    else if (geometry.isScaled) rest.current = setTimeout(() => goTo(geometry.top), scrollPauseMs);
    draw();
  };
  const show = (row: number) => {
    const { first, last } = geometry.rows;
    const far = row < first - 1 || row > last + 1;
    goTo(far ? row * rowHeight - viewport / 2 : geometry.topFor(row));
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const measure = () => setViewport(Math.max(0, element.clientHeight - headHeight));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [headHeight]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to new rows if the list is at its end
  useLayoutEffect(() => {
    if (left !== null || viewport === 0) return;
    const begins = !begun.current;
    begun.current = true;
    if (begins && geometry.maxTop > 0 && geometry.maxTop < viewport) setLeft(count);
    else goTo(geometry.maxTop);
  }, [count, viewport, left === null]);

  useEffect(() => () => clearTimeout(rest.current), []);
  return { scroller, geometry, onScroll, scrollToRow: show, scrollToEnd: () => setLeft(null), rowsWhenLeftEnd: left };
}
