import { anyList, number, read } from "../json/schema";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";

/** Where a widget of a cell is shown: its key, its size in a grid, and the widgets inside it. */
export interface WidgetPlacement {
  key: string;
  /** Placements of the widgets that the layout contains, in page order; empty if it is not a layout. */
  items: readonly WidgetPlacement[];
  /** Number of grid columns and rows that it spans, from 1. */
  columnSpan: number;
  rowSpan: number;
}

const layoutTypes: ReadonlySet<unknown> = new Set(["row", "column", "grid"]);
const maxLayoutDepth = 12; // maximum nesting of layouts; deeper ones are shown separately
const maxLayoutItems = 500; // maximum number of items of one layout
const maxSpan = 24; // maximum number of columns and rows that one widget may span

/** Reports whether a widget is a layout (row, column or grid), which only arranges other widgets. */
export function isLayout(widget: Widget | undefined): boolean {
  return layoutTypes.has(widget?.type);
}

/** The widgets of one cell by absolute key. */
export type WidgetsByKey = Readonly<Record<string, Widget>>;

/**
 * Returns the placements of a cell's widgets. Each widget is placed once: in the first layout that names
 * it, else at the top level. A cycle of layouts is cut where it was entered. Items that the cell does not have
 * get a placement too: they belong to another cell or are missing.
 */
export function arrangeWidgets(cellId: string, widgets: WidgetsByKey): WidgetPlacement[] {
  const items = (key: string) =>
    layoutItemsOf(widgets[key]).map((item) => ({ ...item, key: absoluteKeyOf(cellId, widgets, item.key) }));
  const inside = new Set(Object.keys(widgets).flatMap((key) => items(key).map((item) => item.key)));
  const keys = Object.keys(widgets);
  const placed = new Set<string>();
  const roots = keys.filter((key) => !inside.has(key)).map((key) => placeWidget(items, { key }, placed, 0));
  const rest = keys.filter((key) => !placed.has(key));
  for (const key of rest) if (!placed.has(key)) roots.push(placeWidget(items, { key }, placed, 0));
  return roots;
}

interface LayoutItem {
  key: string;
  columnSpan?: number;
  rowSpan?: number;
}

function placeWidget(
  itemsOf: (key: string) => LayoutItem[],
  { key, columnSpan = 1, rowSpan = 1 }: LayoutItem,
  placed: Set<string>,
  depth: number,
): WidgetPlacement {
  placed.add(key);
  const items: WidgetPlacement[] = [];
  for (const item of depth < maxLayoutDepth ? itemsOf(key) : []) {
    if (!placed.has(item.key)) items.push(placeWidget(itemsOf, item, placed, depth + 1));
  }
  return { key, items, columnSpan, rowSpan };
}

/** Returns the absolute key of a layout's item, whose key may be absolute or relative to the cell. */
function absoluteKeyOf(cellId: string, widgets: WidgetsByKey, key: string): string {
  const absolute = `${cellId}/${key}`;
  return !Object.hasOwn(widgets, key) && Object.hasOwn(widgets, absolute) ? absolute : key;
}

function layoutItemsOf(widget: Widget | undefined): LayoutItem[] {
  if (!isLayout(widget)) return [];
  return read(anyList, widget?.items)
    .slice(0, maxLayoutItems)
    .flatMap((item) => {
      if (!isObject(item) || typeof item.key !== "string") return [];
      return [{ key: item.key, columnSpan: spanOf(item.col_span), rowSpan: spanOf(item.row_span) }];
    });
}

function spanOf(value: unknown): number {
  return Math.min(maxSpan, Math.max(1, Math.floor(number.parse(value) ?? 1)));
}

/** Returns the number of columns of a grid, at least 1. */
export function gridColumnsOf(widget: Widget): number {
  return spanOf(widget.columns);
}
