import type { FlowEntry, FlowRequest } from "./entry";
import { type Filters, hasFilter, noFilters } from "./filters";
import { loadFlowPage, rowCountOfPage } from "./loadFlowPage";
import { PageCache, pageSize } from "./pageCache";

/** What the components show of a trace: its row count, loading state and errors. */
export interface FlowView {
  filters: Filters;
  /** Number of rows; null: not known yet. */
  count: number | null;
  /** Number of stream frames hidden by the filters; null: none, or not known yet. */
  hidden: number | null;
  /** Number of the newest entry. */
  end: number;
  complete: boolean;
  /** The agent has called models. */
  hasModelCalls: boolean;
  /** Why the last request failed; null: it did not. */
  problem: Error | null;
  /** Actions seen so far, sorted. */
  actions: readonly string[];
}

/** Number of rows loaded before and after the visible ones. */
const preloadRows = 100;

/** Minimum number of milliseconds between two requests for pages of rows, so that fast scrolling skips pages. */
const requestIntervalMs = 40;

const maxKnownActions = 200;

/** If more entries than this were added to the trace, they are loaded only when they become visible. */
const maxEagerlyLoadedEntries = 5000;

/** The rows of a trace. Keeps the most recently viewed pages and loads others on demand. */
export class FlowModel {
  #view: FlowView;
  readonly #pages = new PageCache();
  readonly #loads = new Map<number, AbortController>();
  readonly #listeners = new Set<() => void>();
  #wanted: { first: number; last: number } = { first: 0, last: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #growth: AbortController | null = null;
  #growAgain = false;
  #renewal: AbortController | null = null;
  /** Time of the first entry, which identifies the trace; null: not known. */
  #begins: number | null = null;

  constructor(
    readonly base: string,
    filters: Filters = noFilters,
  ) {
    this.#view = {
      filters,
      count: null,
      hidden: null,
      end: 0,
      complete: false,
      hasModelCalls: false,
      problem: null,
      actions: [],
    };
  }

  readonly get = (): FlowView => this.#view;

  readonly subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /** Returns the entry at a row; null: not loaded. setVisibleRows loads it. */
  entryAt(row: number): FlowEntry | null {
    return this.#pages.entryAt(row);
  }

  /** Returns a request that the entry at a row is part of; null: not loaded. */
  requestAt(row: number, first: number): FlowRequest | null {
    return this.#pages.requestAt(row, first);
  }

  /** Returns the requests that are loaded. */
  requests(): readonly FlowRequest[] {
    return this.#pages.requests();
  }

  /** Loads the visible rows that are missing and cancels requests for rows that are no longer visible. */
  setVisibleRows(first: number, last: number): void {
    this.#wanted = { first: Math.max(0, first - preloadRows), last: last + preloadRows };
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
    this.setVisibleRows(0, 0);
  }

  /** Tries again after a failed request. */
  retry(): void {
    this.#tell({ problem: null });
    this.#askSoon();
  }

  /** Loads added entries; starts over if another trace has replaced this one. */
  async checkForNewTrace(): Promise<void> {
    const renewal = new AbortController();
    this.#renewal?.abort();
    this.#renewal = renewal;
    try {
      const page = await loadFlowPage(this.base, noFilters, { limit: 1 }, renewal.signal);
      renewal.signal.throwIfAborted();
      if (this.#begins !== null && page.entries[0]?.ms !== this.#begins) this.#reload();
      else await this.loadAdded();
    } catch (error) {
      this.#fail(error, renewal.signal);
    }
  }

  /** Loads added entries, one request at a time. A call during a request repeats it afterwards. */
  async loadAdded(): Promise<void> {
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
    await this.loadAdded();
  }

  /** Cancels all requests and removes all listeners. */
  dispose(): void {
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
    // A request can continue with an entry that does not match the filters; stream frames belong to
    // no request.
    const picked = hasFilter(filters);
    const page = await loadFlowPage(
      this.base,
      filters,
      picked ? { limit: 1 } : { from: end + 1, limit: maxEagerlyLoadedEntries },
      signal,
    );
    if (page.end < end) return this.#reload(); // another trace has replaced this one
    const count = rowCountOfPage(page);
    if (picked || page.next !== null) this.#pages.markStale();
    else this.#pages.append(page, count - page.entries.length);
    const actions = this.#actionsWith(page.entries);
    const { hidden, complete, hasModelCalls } = page;
    this.#tell({ count, hidden, end: page.end, complete, hasModelCalls, problem: null, actions });
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
    const wait = this.#askedAt + requestIntervalMs - performance.now();
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
      const page = await loadFlowPage(this.base, filters, { skip: number * pageSize, limit: pageSize }, load.signal);
      load.signal.throwIfAborted();
      this.#pages.put(number, page, rowCountOfPage(page));
      if (number === 0 && !hasFilter(filters)) this.#begins = page.entries[0]?.ms ?? null;
      const { count, end } = this.#view;
      const grown = page.end >= end;
      this.#tell({
        count: grown || count === null ? rowCountOfPage(page) : count,
        hidden: grown || count === null ? page.hidden : this.#view.hidden,
        end: Math.max(end, page.end),
        complete: grown ? page.complete : this.#view.complete,
        hasModelCalls: grown ? page.hasModelCalls : this.#view.hasModelCalls,
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
    for (const { action } of entries) if (action !== "" && all.size < maxKnownActions) all.add(action);
    return all.size === actions.length ? actions : [...all].sort();
  }

  #tell(change: Partial<FlowView>): void {
    this.#view = { ...this.#view, ...change };
    for (const f of this.#listeners) f();
  }
}
