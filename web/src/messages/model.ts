import { askFlow, countOf } from "./ask";
import type { FlowEntry, FlowRequest } from "./entry";
import { type Filters, isPicked, noFilters } from "./filters";
import { Pages, pageSize } from "./pages";

/** What there is to be seen, as far as it is known. */
export interface FlowView {
  filters: Filters;
  /** Rows; null: not known yet. */
  count: number | null;
  /** Pieces of replies that the filters leave out; null: none, or not known yet. */
  hidden: number | null;
  /** The newest entry of the trace. */
  end: number;
  complete: boolean;
  /** Why the last question had no answer; null: it had one. */
  problem: Error | null;
  /** Actions that were seen, in alphabetic order. */
  actions: readonly string[];
}

/** Rows around those that are seen which are asked for with them. */
const margin = 100;

/** Between two questions for pages that somebody scrolls past, in milliseconds. */
const pauseMs = 40;

const mostActions = 200;

/** More than so many new entries are not taken in at once, but asked for as they are seen. */
const mostAdded = 5000;

/** The rows of a trace, of which it holds the pages that are looked at and some more. */
export class FlowModel {
  #view: FlowView;
  readonly #pages = new Pages();
  readonly #loads = new Map<number, AbortController>();
  readonly #listeners = new Set<() => void>();
  #wanted: { first: number; last: number } = { first: 0, last: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #growth: AbortController | null = null;
  #growAgain = false;
  #renewal: AbortController | null = null;
  /** When its first entry was, which tells one trace from another; null: not known. */
  #begins: number | null = null;

  constructor(
    readonly base: string,
    filters: Filters = noFilters,
  ) {
    this.#view = { filters, count: null, hidden: null, end: 0, complete: false, problem: null, actions: [] };
  }

  readonly get = (): FlowView => this.#view;

  readonly subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /** null: it is not here; want() asks for it. */
  entryAt(row: number): FlowEntry | null {
    return this.#pages.entryAt(row);
  }

  /** A request that the entry at a row is part of; null: it is not here. */
  requestAt(row: number, first: number): FlowRequest | null {
    return this.#pages.requestAt(row, first);
  }

  /** Requests that are known. */
  requests(): readonly FlowRequest[] {
    return this.#pages.requests();
  }

  /** Asks for rows that are seen and not here, and gives up what was asked for and is not seen any more. */
  want(first: number, last: number): void {
    this.#wanted = { first: Math.max(0, first - margin), last: last + margin };
    const pages = this.#wantedPages();
    for (const [number, load] of this.#loads) {
      if (pages.includes(number)) continue;
      load.abort();
      this.#loads.delete(number);
    }
    for (const number of pages) this.#pages.touch(number);
    if (this.#view.problem === null) this.#askSoon();
  }

  setFilters(filters: Filters): void {
    this.#forget();
    this.#tell({ filters, count: null, hidden: null, problem: null });
    this.want(0, 0);
  }

  /** Asks again after a problem. */
  retry(): void {
    this.#tell({ problem: null });
    this.#askSoon();
  }

  /** Asks what has been added, and begins anew if another trace has taken the place of this one. */
  async renew(): Promise<void> {
    const renewal = new AbortController();
    this.#renewal?.abort();
    this.#renewal = renewal;
    try {
      const page = await askFlow(this.base, noFilters, { limit: 1 }, renewal.signal);
      renewal.signal.throwIfAborted();
      if (this.#begins !== null && page.entries[0]?.ms !== this.#begins) this.#reload();
      else await this.grow();
    } catch (error) {
      this.#fail(error, renewal.signal);
    }
  }

  /** Asks what has been added. One question at a time; what comes meanwhile is asked for then. */
  async grow(): Promise<void> {
    if (this.#growth !== null) {
      this.#growAgain = true;
      return;
    }
    const growth = new AbortController();
    this.#growth = growth;
    try {
      await this.#grown(growth.signal);
    } catch (error) {
      this.#fail(error, growth.signal);
    }
    if (this.#growth === growth) this.#growth = null;
    if (!this.#growAgain || growth.signal.aborted) return;
    this.#growAgain = false;
    await this.grow();
  }

  /** Ends all questions, for good. */
  end(): void {
    this.#renewal?.abort();
    this.#forget();
    this.#listeners.clear();
  }

  #reload(): void {
    this.#begins = null;
    this.#tell({ end: 0, complete: false });
    this.setFilters(this.#view.filters);
  }

  async #grown(signal: AbortSignal): Promise<void> {
    const { filters, end } = this.#view;
    // A request can go on by an entry that is not picked; pieces of replies are part of none.
    const picked = isPicked(filters);
    const page = await askFlow(this.base, filters, picked ? { limit: 1 } : { from: end + 1, limit: mostAdded }, signal);
    if (page.end < end) return this.#reload(); // another trace has taken its place
    const count = countOf(page);
    if (picked || page.next !== null) this.#pages.age();
    else this.#pages.append(page, count - page.entries.length);
    const actions = this.#actionsWith(page.entries);
    this.#tell({ count, hidden: page.hidden, end: page.end, complete: page.complete, problem: null, actions });
    this.#askSoon();
  }

  #wantedPages(): readonly number[] {
    const { first, last } = this.#wanted;
    const most = this.#view.count === null ? 0 : Math.max(0, this.#view.count - 1);
    const from = Math.floor(Math.min(first, most) / pageSize);
    const to = Math.floor(Math.min(last, most) / pageSize);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  }

  #askSoon(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#askedAt + pauseMs - performance.now();
    if (wait <= 0) this.#ask();
    else
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#ask();
      }, wait);
  }

  #ask(): void {
    const { count } = this.#view;
    for (const number of this.#wantedPages()) {
      if (!this.#loads.has(number) && (count === null || !this.#pages.has(number, count))) void this.#load(number);
    }
  }

  async #load(number: number): Promise<void> {
    const load = new AbortController();
    this.#loads.set(number, load);
    this.#askedAt = performance.now();
    const { filters } = this.#view;
    try {
      const page = await askFlow(this.base, filters, { skip: number * pageSize, limit: pageSize }, load.signal);
      load.signal.throwIfAborted();
      this.#pages.put(number, page, countOf(page));
      if (number === 0 && !isPicked(filters)) this.#begins = page.entries[0]?.ms ?? null;
      const { count, end } = this.#view;
      const grown = page.end >= end;
      this.#tell({
        count: grown || count === null ? countOf(page) : count,
        hidden: grown || count === null ? page.hidden : this.#view.hidden,
        end: Math.max(end, page.end),
        complete: grown ? page.complete : this.#view.complete,
        problem: null,
        actions: this.#actionsWith(page.entries),
      });
    } catch (error) {
      this.#fail(error, load.signal);
    } finally {
      if (this.#loads.get(number) === load) this.#loads.delete(number);
    }
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#tell({ problem: error instanceof Error ? error : new Error(String(error)) });
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#askedAt = Number.NEGATIVE_INFINITY;
    for (const load of this.#loads.values()) load.abort();
    this.#loads.clear();
    this.#growth?.abort();
    this.#growth = null;
    this.#growAgain = false;
    this.#pages.clear();
  }

  #actionsWith(entries: readonly FlowEntry[]): readonly string[] {
    const { actions } = this.#view;
    const all = new Set(actions);
    for (const { action } of entries) if (action !== "" && all.size < mostActions) all.add(action);
    return all.size === actions.length ? actions : [...all].sort();
  }

  #tell(change: Partial<FlowView>): void {
    this.#view = { ...this.#view, ...change };
    for (const f of this.#listeners) f();
  }
}
