import { anyList, number, read } from "../json/schema";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";

/** A place for a widget, in the order of the page. */
export interface Place {
  key: string;
  /** What is in it, of a layout. */
  items: readonly Place[];
  /** Columns and rows of a grid that it takes, from 1. */
  across: number;
  down: number;
}

const layouts: ReadonlySet<unknown> = new Set(["row", "column", "grid"]);
const deepest = 12; // layouts in layouts; what is deeper stands by itself
const mostItems = 500; // of one layout
const widest = 24; // columns and rows that one widget may take

/** Tells whether a widget only arranges others. */
export function isLayout(widget: Widget | undefined): boolean {
  return layouts.has(widget?.type);
}

export type Widgets = Readonly<Record<string, Widget>>;

/**
 * Says where each widget of a cell is shown: once, in the first layout that names
 * it, else by itself. Layouts that go in a circle are opened where it was entered.
 * Items that the cell does not have are places too: they are another cell's, or missing.
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

/** The key that a layout means: a kernel may name widgets within their cell. */
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

/** How many columns a grid has, from 1. */
export function columnsOf(widget: Widget): number {
  return span(widget.columns);
}
