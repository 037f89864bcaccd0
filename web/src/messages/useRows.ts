import { type RefObject, useEffect, useLayoutEffect, useReducer, useRef, useState } from "react";
import { Geometry } from "./geometry";

/** How long the scrollbar must rest before it is put where it belongs, in milliseconds. */
const restMs = 200;

export interface Rows {
  scroller: RefObject<HTMLDivElement | null>;
  geometry: Geometry;
  onScroll: () => void;
  /** Scrolls until a row is seen; middle: to the middle, if it was not. */
  show: (row: number) => void;
  toEnd: () => void;
  /** How many rows there were when one scrolled away from the end; null: one is there. */
  left: number | null;
}

/**
 * Scrolls over rows of one height below a head, and stays at the end if it is there.
 * fromEnd: it begins there, but for rows of less than two screens, which begin at the first.
 */
export function useRows(count: number, rowHeight: number, headHeight: number, fromEnd: boolean): Rows {
  const scroller = useRef<HTMLDivElement>(null);
  const [geometry] = useState(() => new Geometry(rowHeight));
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
    geometry.scrolledTo(element.scrollTop);
    const atEnd = geometry.top >= geometry.most - rowHeight / 2;
    setLeft((before) => (atEnd ? null : (before ?? count)));
    clearTimeout(rest.current);
    if (geometry.stuck) goTo(geometry.top);
    else if (geometry.scaled) rest.current = setTimeout(() => goTo(geometry.top), restMs);
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is new at the end is shown to who is there
  useLayoutEffect(() => {
    if (left !== null || viewport === 0) return;
    const begins = !begun.current;
    begun.current = true;
    if (begins && geometry.most > 0 && geometry.most < viewport) setLeft(count);
    else goTo(geometry.most);
  }, [count, viewport, left === null]);

  useEffect(() => () => clearTimeout(rest.current), []);
  return { scroller, geometry, onScroll, show, toEnd: () => setLeft(null), left };
}
