import { askFlow, countOf } from "./ask";
import type { FlowEntry, FlowPage } from "./entry";
import type { Filters } from "./filters";
import { isOdd } from "./oddity";

const scanSize = 5000;

/** The pages of a trace from one of its rows on, or back from it, each with its first row. */
export async function* scan(
  base: string,
  filters: Filters,
  from: number,
  step: 1 | -1,
  signal: AbortSignal,
): AsyncGenerator<{ page: FlowPage; row: number }> {
  let row = step > 0 ? from : Math.max(0, from - scanSize + 1);
  let limit = step > 0 ? scanSize : from - row + 1;
  while (limit > 0) {
    const page = await askFlow(base, filters, { skip: row, limit }, signal);
    yield { page, row };
    if (step > 0 && row + limit >= countOf(page)) return;
    const next = step > 0 ? row + limit : Math.max(0, row - scanSize);
    if (step < 0) limit = row - next;
    row = next;
  }
}

/** The row of the next odd entry behind a row, or before it; null: there is none. */
export async function findOdd(
  base: string,
  filters: Filters,
  row: number,
  step: 1 | -1,
  signal: AbortSignal,
): Promise<number | null> {
  if (row + step < 0) return null;
  for await (const { page, row: first } of scan(base, filters, row + step, step, signal)) {
    const odd = (entry: FlowEntry) => isOdd(entry, page.requests.get(entry.seq) ?? null, page.complete);
    const at = step > 0 ? page.entries.findIndex(odd) : page.entries.findLastIndex(odd);
    if (at >= 0) return first + at;
  }
  return null;
}

/** A row, and the entry there. */
export interface Found {
  row: number;
  entry: FlowEntry;
}

/** The first row whose entry is as wanted, where all before it are not and all behind it are; if there is none, the last row. */
export async function findRow(
  base: string,
  filters: Filters,
  wanted: (entry: FlowEntry) => boolean,
  signal: AbortSignal,
): Promise<Found | null> {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let found: Found | null = null;
  let last: Found | null = null;
  while (low < high) {
    const row = high === Number.POSITIVE_INFINITY ? 0 : Math.floor((low + high) / 2);
    const page = await askFlow(base, filters, { skip: row, limit: 1 }, signal);
    const entry = page.entries[0];
    if (entry === undefined) break;
    if (high === Number.POSITIVE_INFINITY) high = countOf(page);
    if (wanted(entry)) {
      found = { row, entry };
      high = row;
    } else {
      last = { row, entry };
      low = row + 1;
    }
  }
  return found ?? last;
}
