import { defaultRangeExtractor, useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useMemo } from "react";
import { useSelect, useStore } from "../store/store";
import { Cell } from "./Cell";
import styles from "./CellList.module.css";
import { CellDragAreaProvider, type CellVirtualizer } from "./cellDragArea";
import { detachedCellIndex, estimateCellHeight, indexesOfDrawnCells } from "./cellLayout";
import { DropLine } from "./DropLine";
import { useViewState } from "./notebookContext";
import { ScrollAnchor } from "./ScrollAnchor";
import { useReveal } from "./useReveal";

interface Props {
  language: string;
  /** The scrolling element; null until it is mounted. */
  scroller: HTMLDivElement | null;
  /** Shown after the last cell. */
  children: ReactNode;
}

/** The list counts as scrolled to its end within this distance in pixels. */
const endTolerancePx = 8;
/** Padding above the first cell and below the last one, in pixels. The lower one holds the children. */
const paddingAbovePx = 20;
const paddingBelowPx = 140;

/**
 * A virtualised list: it draws the cells on screen, some around them, and the selected one. Drawn
 * cells are in normal flow, so a growing cell pushes the next ones down at once; measured heights
 * place the rest.
 */
export function CellList({ language, scroller, children }: Props) {
  const store = useStore();
  const order = useSelect((state) => state.notebook.order);
  const selected = useViewState((state) => state.selected);
  const selectedIndex = selected === null ? -1 : order.indexOf(selected);
  const list = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller,
    estimateSize: useCallback((index) => estimateCellHeight(store.get(), order[index] ?? ""), [store, order]),
    getItemKey: useCallback((index: number) => order[index] ?? index, [order]),
    rangeExtractor: useCallback(
      (range) => indexesOfDrawnCells(defaultRangeExtractor(range), selectedIndex),
      [selectedIndex],
    ),
    measureElement: measureHeight,
    overscan: 5,
    paddingStart: paddingAbovePx,
    paddingEnd: paddingBelowPx,
  });
  list.shouldAdjustScrollPositionOnItemSizeChange = shouldAdjustScroll;
  useReveal(list, scroller);

  const handle = useMemo(
    () => ({ scroller, insertIndexAt: (clientY: number) => insertIndexAt(list, clientY) }),
    [list, scroller],
  );
  const items = list.getVirtualItems();
  const detached = detachedCellIndex(
    items.map((item) => item.index),
    selectedIndex,
  );
  const first = items.find((item) => item.index !== detached);
  return (
    <CellDragAreaProvider value={handle}>
      <ScrollAnchor
        order={order}
        scroller={scroller}
        cellStart={(place) => topOfCellAt(list, place)}
        scrollToEnd={() => list.scrollToEnd()}
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
              className={item.index === detached ? styles.apart : undefined}
              style={item.index === detached ? { top: item.start } : undefined}
            >
              <Cell cellId={order[item.index] ?? ""} index={item.index} count={order.length} language={language} />
            </div>
          ))}
          <DropLine topOf={(place) => topOfCellAt(list, place)} />
        </div>
        <div className={styles.end} style={{ height: paddingBelowPx, marginTop: -paddingBelowPx }}>
          {children}
        </div>
      </ScrollAnchor>
    </CellDragAreaProvider>
  );
}

/** Returns the height of a drawn row in fractional pixels; rounded heights would add up to a wrong total. */
function measureHeight(row: Element, entry: ResizeObserverEntry | undefined, list: CellVirtualizer): number {
  const known = list.itemSizeCache.get(list.options.getItemKey(list.indexFromElement(row)));
  return entry?.borderBoxSize[0]?.blockSize ?? known ?? row.getBoundingClientRect().height;
}

/**
 * Reports whether the list should scroll by the change of a cell's height, so that the cells on
 * screen do not move.
 */
function shouldAdjustScroll(cell: VirtualItem, _delta: number, list: CellVirtualizer): boolean {
  const offset = list.scrollOffset ?? 0;
  if (cell.index === list.options.count - 1 && offset > 0) {
    const end = list.getTotalSize() - (list.scrollRect?.height ?? 0);
    if (offset >= end - endTolerancePx) return true;
  }
  return list.itemSizeCache.has(cell.key) ? cell.end <= offset : cell.start < offset;
}

function insertIndexAt(list: CellVirtualizer, clientY: number): number {
  const top = list.scrollElement?.getBoundingClientRect().top ?? 0;
  const y = clientY - top + (list.scrollElement?.scrollTop ?? 0);
  const cell = list.getVirtualItemForOffset(y);
  if (cell === undefined) return 0;
  return y > (cell.start + cell.end) / 2 ? cell.index + 1 : cell.index;
}

/**
 * Returns where the cell at an index begins in the list, in pixels; for an index after the last
 * cell, where the last cell ends.
 */
function topOfCellAt(list: CellVirtualizer, place: number): number {
  list.getTotalSize(); // applies the newest measurements
  return list.measurementsCache[place]?.start ?? list.measurementsCache[place - 1]?.end ?? 0;
}
