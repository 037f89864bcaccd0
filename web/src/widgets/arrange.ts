import { anyList, number, read } from "../json/schema";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";

/** A widget's place on the page, in page order. */
export interface Place {
  key: string;
  /** The places in it, if it is a layout. */
  items: readonly Place[];
  /** Number of grid columns and rows that it spans, from 1. */
  across: number;
  down: number;
}

const layouts: ReadonlySet<unknown> = new Set(["row", "column", "grid"]);
const deepest = 12; // maximum nesting of layouts; deeper ones are shown separately
const mostItems = 500; // maximum number of items of one layout
const widest = 24; // maximum number of columns and rows that one widget may span

/** Reports whether a widget only arranges others. */
export function isLayout(widget: Widget | undefined): boolean {
  return layouts.has(widget?.type);
}

export type Widgets = Readonly<Record<string, Widget>>;

/**
 * Returns where each widget of a cell is shown: once, in the first layout that names it, else
 * separately. Cyclic layouts are cut where the cycle was entered. Items that the cell does not have
 * are places too: they belong to another cell or are missing.
 */
export function arrange(cellId: string, widgets: Widgets): Place[] {
  const items = (key: string) =>
    itemsOf(widgets[key]).map((item) => ({ ...item, key: known(cellId, widgets, item.key) }));
  const inside = new Set(Object.keys(widgets).flatMap((key) => items(key).map((item) => item.key)));
  const keys = Object.keys(widgets);
  const placed = new Set<string>();
  const roots = keys.filter((key) => !inside.has(key)).map((key) => place(items, { key }, placed, 0));
  const rest = keys.filter((key) => !placed.has(key));
  for (const key of rest) if (!placed.has(key)) roots.push(place(items, { key }, placed, 0));
  return roots;
}

interface Item {
  key: string;
  across?: number;
  down?: number;
}

function place(
  itemsOf: (key: string) => Item[],
  { key, across = 1, down = 1 }: Item,
  placed: Set<string>,
  depth: number,
): Place {
  placed.add(key);
  const items: Place[] = [];
  for (const item of depth < deepest ? itemsOf(key) : []) {
    if (!placed.has(item.key)) items.push(place(itemsOf, item, placed, depth + 1));
  }
  return { key, items, across, down };
}

/** Returns the absolute key that a layout's item means: a kernel may use the key within the cell. */
function known(cellId: string, widgets: Widgets, key: string): string {
  const absolute = `${cellId}/${key}`;
  return !Object.hasOwn(widgets, key) && Object.hasOwn(widgets, absolute) ? absolute : key;
}

function itemsOf(widget: Widget | undefined): Item[] {
  if (!isLayout(widget)) return [];
  return read(anyList, widget?.items)
    .slice(0, mostItems)
    .flatMap((item) => {
      if (!isObject(item) || typeof item.key !== "string") return [];
      return [{ key: item.key, across: span(item.col_span), down: span(item.row_span) }];
    });
}

function span(value: unknown): number {
  return Math.min(widest, Math.max(1, Math.floor(number.parse(value) ?? 1)));
}

/** Returns the number of columns of a grid, at least 1. */
export function columnsOf(widget: Widget): number {
  return span(widget.columns);
}
