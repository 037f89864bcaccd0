import { anyList, number, read } from "../json/schema";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";

/** A widget's place on the page, in page order. */
export interface WidgetPlacement {
  key: string;
  /** The places in it, if it is a layout. */
  items: readonly WidgetPlacement[];
  /** Number of grid columns and rows that it spans, from 1. */
  columnSpan: number;
  rowSpan: number;
}

const layoutTypes: ReadonlySet<unknown> = new Set(["row", "column", "grid"]);
const maxLayoutDepth = 12; // maximum nesting of layouts; deeper ones are shown separately
const maxLayoutItems = 500; // maximum number of items of one layout
const maxSpan = 24; // maximum number of columns and rows that one widget may span

/** Reports whether a widget only arranges others. */
export function isLayout(widget: Widget | undefined): boolean {
  return layoutTypes.has(widget?.type);
}

export type WidgetsByKey = Readonly<Record<string, Widget>>;

/**
 * Returns where each widget of a cell is shown: once, in the first layout that names it, else
 * separately. Cyclic layouts are cut where the cycle was entered. Items that the cell does not have
 * are places too: they belong to another cell or are missing.
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

/** Returns the absolute key that a layout's item means: a kernel may use the key within the cell. */
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
