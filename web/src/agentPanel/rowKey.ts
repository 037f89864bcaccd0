import type { Item } from "../store/state";

/**
 * A name for the item in that place that stays with it when others come before it:
 * its entry of the trace, and which of the items of that entry it is. "" when there
 * is none.
 */
export function rowKey(items: readonly Item[], place: number): string {
  const seq = items[place]?.seq;
  if (seq === undefined) return "";
  if (seq === 0) return `at ${place}`;
  let first = place;
  while (first > 0 && items[first - 1]?.seq === seq) first--;
  return `${seq}.${place - first}`;
}
