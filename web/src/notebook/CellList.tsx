import { defaultRangeExtractor, useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useMemo } from "react";
import { useSelect, useStore } from "../store/store";
import { Cell } from "./Cell";
import styles from "./CellList.module.css";
import { DropLine } from "./DropLine";
import { useView } from "./desk";
import { KeepPlace } from "./KeepPlace";
import { type List, ListProvider } from "./list";
import { drawnPlaces, likelyHeight, placeApart } from "./place";
import { useReveal } from "./useReveal";

interface Props {
  language: string;
  /** The element that scrolls; null until it is there. */
  scroller: HTMLDivElement | null;
  /** What comes after the last cell. */
  children: ReactNode;
}

/** So near to the end (pixels) a person is at the end. */
const endSlack = 8;
/** Room above the first cell, and below the last one for what comes after it. */
const above = 20;
const below = 140;

/**
 * The cells, of which only those are drawn that are on the screen or near it, and
 * the selected one. Drawn cells stand below each other as in any text, so that one
 * that grows pushes the next at once; their heights are measured for the rest.
 */
export function CellList({ language, scroller, children }: Props) {
  const store = useStore();
  const order = useSelect((state) => state.notebook.order);
  const selected = useView((state) => state.selected);
  const kept = selected === null ? -1 : order.indexOf(selected);
  const list = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller,
    estimateSize: useCallback((index) => likelyHeight(store.get(), order[index] ?? ""), [store, order]),
    getItemKey: useCallback((index: number) => order[index] ?? index, [order]),
    rangeExtractor: useCallback((range) => drawnPlaces(defaultRangeExtractor(range), kept), [kept]),
    measureElement: heightOf,
    overscan: 5,
    paddingStart: above,
    paddingEnd: below,
  });
  list.shouldAdjustScrollPositionOnItemSizeChange = keepsStill;
  useReveal(list, scroller);

  const handle = useMemo(() => ({ scroller, placeAt: (clientY: number) => placeAt(list, clientY) }), [list, scroller]);
  const items = list.getVirtualItems();
  const apart = placeApart(
    items.map((item) => item.index),
    kept,
  );
  const first = items.find((item) => item.index !== apart);
  return (
    <ListProvider value={handle}>
      <KeepPlace
        order={order}
        scroller={scroller}
        startOf={(place) => startOf(list, place)}
        toEnd={() => list.scrollToEnd()}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: see Cell */}
        <div
          role="list"
          aria-label="Cells"
          className={styles.cells}
          style={{ height: list.getTotalSize(), paddingTop: first?.start ?? 0 }}
          data-keys="notebook"
        >
          {items.map((item) => (
            <div
              key={item.key}
              role="presentation"
              ref={list.measureElement}
              data-index={item.index}
              className={item.index === apart ? styles.apart : undefined}
              style={item.index === apart ? { top: item.start } : undefined}
            >
              <Cell cellId={order[item.index] ?? ""} index={item.index} count={order.length} language={language} />
            </div>
          ))}
          <DropLine topOf={(place) => startOf(list, place)} />
        </div>
        <div className={styles.end} style={{ height: below, marginTop: -below }}>
          {children}
        </div>
      </KeepPlace>
    </ListProvider>
  );
}

/** The height of a drawn cell to the fraction of a pixel, so that sums of many heights are right. */
function heightOf(row: Element, entry: ResizeObserverEntry | undefined, list: List): number {
  const known = list.itemSizeCache.get(list.options.getItemKey(list.indexFromElement(row)));
  return entry?.borderBoxSize[0]?.blockSize ?? known ?? row.getBoundingClientRect().height;
}

/** A cell has another height: true when the list scrolls by as much, so that what is on the screen stays there. */
function keepsStill(cell: VirtualItem, _delta: number, list: List): boolean {
  const offset = list.scrollOffset ?? 0;
  if (cell.index === list.options.count - 1 && offset > 0) {
    const end = list.getTotalSize() - (list.scrollRect?.height ?? 0);
    if (offset >= end - endSlack) return true;
  }
  return list.itemSizeCache.has(cell.key) ? cell.end <= offset : cell.start < offset;
}

function placeAt(list: List, clientY: number): number {
  const top = list.scrollElement?.getBoundingClientRect().top ?? 0;
  const y = clientY - top + (list.scrollElement?.scrollTop ?? 0);
  const cell = list.getVirtualItemForOffset(y);
  if (cell === undefined) return 0;
  return y > (cell.start + cell.end) / 2 ? cell.index + 1 : cell.index;
}

/** Where the cell at the place begins, in pixels; behind the last one, where that ends. */
function startOf(list: List, place: number): number {
  list.getTotalSize(); // takes in what was measured just now
  return list.measurementsCache[place]?.start ?? list.measurementsCache[place - 1]?.end ?? 0;
}
