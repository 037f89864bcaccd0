import type { FlowEntry, FlowPage } from "./entry";
import type { Filters } from "./filters";
import { loadFlowPage, rowCountOfPage } from "./loadFlowPage";
import { isOddEntry } from "./oddity";

const rowsPerScan = 5000;

/**
 * Yields the pages of a trace from a row on, forwards (direction 1) or backwards (-1), each with
 * the number of its first row.
 */
export async function* scanPages(
  base: string,
  filters: Filters,
  from: number,
  step: 1 | -1,
  signal: AbortSignal,
): AsyncGenerator<{ page: FlowPage; row: number }> {
  let row = step > 0 ? from : Math.max(0, from - rowsPerScan + 1);
  let limit = step > 0 ? rowsPerScan : from - row + 1;
  while (limit > 0) {
    const page = await loadFlowPage(base, filters, { skip: row, limit }, signal);
    yield { page, row };
    if (step > 0 && row + limit >= rowCountOfPage(page)) return;
    const next = step > 0 ? row + limit : Math.max(0, row - rowsPerScan);
    if (step < 0) limit = row - next;
    row = next;
  }
}

/** Returns the next row with a problem after (1) or before (-1) a row; null if there is none. */
export async function findOddRow(
  base: string,
  filters: Filters,
  row: number,
  step: 1 | -1,
  signal: AbortSignal,
): Promise<number | null> {
  if (row + step < 0) return null;
  for await (const { page, row: first } of scanPages(base, filters, row + step, step, signal)) {
    const odd = (entry: FlowEntry) => isOddEntry(entry, page.requests.get(entry.seq) ?? null, page.complete);
    const at = step > 0 ? page.entries.findIndex(odd) : page.entries.findLastIndex(odd);
    if (at >= 0) return first + at;
  }
  return null;
}

/** A row number and the entry in that row. */
export interface FoundRow {
  row: number;
  entry: FlowEntry;
}

/**
 * Returns the first row whose entry satisfies the predicate, by binary search; the last row if none
 * does; null if there are no rows. The predicate must be false for all earlier rows and true for
 * all later ones.
 */
export async function findFirstRow(
  base: string,
  filters: Filters,
  matches: (entry: FlowEntry) => boolean,
  signal: AbortSignal,
): Promise<FoundRow | null> {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let found: FoundRow | null = null;
  let last: FoundRow | null = null;
  while (low < high) {
    const row = high === Number.POSITIVE_INFINITY ? 0 : Math.floor((low + high) / 2);
    const page = await loadFlowPage(base, filters, { skip: row, limit: 1 }, signal);
    const entry = page.entries[0];
    if (entry === undefined) break;
    if (high === Number.POSITIVE_INFINITY) high = rowCountOfPage(page);
    if (matches(entry)) {
      found = { row, entry };
      high = row;
    } else {
      last = { row, entry };
      low = row + 1;
    }
  }
  return found ?? last;
}
