import type { FlowEntry, FlowPage, FlowRequest } from "./entry";

/** Rows of a page. */
export const pageSize = 500;

const mostPages = 40;

interface Held {
  entries: readonly FlowEntry[];
  requests: ReadonlyMap<number, FlowRequest>;
  /** How many rows there were when it came; -1: it is to be asked for again. */
  known: number;
}

/** The pages of a trace that were looked at last. */
export class Pages {
  /** By number, from 0; what was looked at longest ago first. */
  readonly #held = new Map<number, Held>();

  /** Takes a page in; known is how many rows there were. */
  put(number: number, { entries, requests }: FlowPage, known: number): void {
    this.#held.delete(number);
    this.#held.set(number, { entries: entries.slice(0, pageSize), requests, known });
    this.#letGo();
  }

  /** Says that a page is being looked at. */
  touch(number: number): void {
    const held = this.#held.get(number);
    if (held === undefined) return;
    this.#held.delete(number);
    this.#held.set(number, held);
  }

  /** Whether a page is here with all that it has of so many rows. */
  has(number: number, count: number): boolean {
    const held = this.#held.get(number);
    if (held === undefined || held.known < 0) return false;
    return held.entries.length >= Math.min(pageSize, count - number * pageSize) || held.known >= count;
  }

  /** Takes in what was added to the end, of which the first stands in that row, and how requests are now. */
  append(added: FlowPage, first: number): void {
    const touched = new Set([
      ...this.#held.keys(),
      ...added.entries.map((_, at) => Math.floor((first + at) / pageSize)),
    ]);
    for (const number of touched) {
      const held = this.#held.get(number) ?? { entries: [], requests: new Map(), known: 0 };
      const more = moreOf(number * pageSize, held.entries.length, added.entries, first);
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

  /** Has all pages asked for again, and shows them until they come. */
  age(): void {
    for (const [number, held] of this.#held) this.#held.set(number, { ...held, known: -1 });
  }

  clear(): void {
    this.#held.clear();
  }

  /** null: it is not here. */
  entryAt(row: number): FlowEntry | null {
    return this.#held.get(Math.floor(row / pageSize))?.entries[row % pageSize] ?? null;
  }

  /** A request that the entry at a row is part of; null: it is not here. */
  requestAt(row: number, first: number): FlowRequest | null {
    return this.#held.get(Math.floor(row / pageSize))?.requests.get(first) ?? null;
  }

  /** All requests that are here, each once. */
  requests(): readonly FlowRequest[] {
    const all = new Map<number, FlowRequest>();
    for (const { requests } of this.#held.values()) for (const [first, request] of requests) all.set(first, request);
    return [...all.values()];
  }

  #letGo(): void {
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= mostPages) return;
      this.#held.delete(oldest);
    }
  }
}

/** Those of the entries, of which the first stands in that row, that go on where a page that begins at `top` ends with so many of its rows. */
function moreOf(top: number, have: number, entries: readonly FlowEntry[], first: number): readonly FlowEntry[] {
  const at = top + have - first;
  return at < 0 ? [] : entries.slice(at, at + Math.max(0, pageSize - have));
}
