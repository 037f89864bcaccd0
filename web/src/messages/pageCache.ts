import type { FlowEntry, FlowPage, FlowRequest } from "./entry";

/** Number of rows in a page. */
export const pageSize = 500;

const maxCachedPages = 40;

interface CachedPage {
  entries: readonly FlowEntry[];
  requests: ReadonlyMap<number, FlowRequest>;
  /** Number of rows when the page was loaded; -1: it must be loaded again. */
  knownCount: number;
}

/** Caches the most recently viewed pages of a trace. */
export class PageCache {
  /** Pages by number, from 0, least recently used first. */
  readonly #held = new Map<number, CachedPage>();

  /** Stores a page. knownCount is the number of rows when it was loaded. */
  put(number: number, { entries, requests }: FlowPage, knownCount: number): void {
    this.#held.delete(number);
    this.#held.set(number, { entries: entries.slice(0, pageSize), requests, knownCount });
    this.#letGo();
  }

  /** Marks a page as recently used. */
  touch(number: number): void {
    const held = this.#held.get(number);
    if (held === undefined) return;
    this.#held.delete(number);
    this.#held.set(number, held);
  }

  /** Reports whether a page is complete for the given number of rows. */
  has(number: number, count: number): boolean {
    const held = this.#held.get(number);
    if (held === undefined || held.knownCount < 0) return false;
    return held.entries.length >= Math.min(pageSize, count - number * pageSize) || held.knownCount >= count;
  }

  /** Adds entries to the end, the first of them at row firstRow, and updates requests. */
  append(added: FlowPage, firstRow: number): void {
    const touched = new Set([
      ...this.#held.keys(),
      ...added.entries.map((_, at) => Math.floor((firstRow + at) / pageSize)),
    ]);
    for (const number of touched) {
      const held = this.#held.get(number) ?? { entries: [], requests: new Map(), knownCount: 0 };
      const more = entriesContinuing(number * pageSize, held.entries.length, added.entries, firstRow);
      const mine = new Set(more.flatMap(({ requests }) => requests));
      const requests = [...added.requests].filter(([first]) => held.requests.has(first) || mine.has(first));
      if (more.length === 0 && requests.length === 0) continue;
      this.#held.set(number, {
        ...held,
        entries: [...held.entries, ...more],
        requests: new Map([...held.requests, ...requests]),
      });
    }
    this.#letGo();
  }

  /** Marks all pages to be loaded again. They are shown until then. */
  markStale(): void {
    for (const [number, held] of this.#held) this.#held.set(number, { ...held, knownCount: -1 });
  }

  clear(): void {
    this.#held.clear();
  }

  /** Returns the entry at a row; null: not loaded. */
  entryAt(row: number): FlowEntry | null {
    return this.#held.get(Math.floor(row / pageSize))?.entries[row % pageSize] ?? null;
  }

  /** Returns a request that the entry at a row is part of; null: not loaded. */
  requestAt(row: number, first: number): FlowRequest | null {
    return this.#held.get(Math.floor(row / pageSize))?.requests.get(first) ?? null;
  }

  /** Returns all loaded requests, without duplicates. */
  requests(): readonly FlowRequest[] {
    const all = new Map<number, FlowRequest>();
    for (const { requests } of this.#held.values()) for (const [first, request] of requests) all.set(first, request);
    return [...all.values()];
  }

  #letGo(): void {
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= maxCachedPages) return;
      this.#held.delete(oldest);
    }
  }
}

/**
 * Returns those of the entries that continue a page. The page begins at row top and has `have`
 * rows; entries[0] is at row first.
 */
function entriesContinuing(
  top: number,
  have: number,
  entries: readonly FlowEntry[],
  first: number,
): readonly FlowEntry[] {
  const at = top + have - first;
  return at < 0 ? [] : entries.slice(at, at + Math.max(0, pageSize - have));
}
