import { useEffect, useRef, useState } from "react";
import { initialFilters, noFilters } from "./filters";
import type { FlowModel } from "./flowModel";
import { findFirstRow, findOddRow } from "./scanRows";
import type { TracePosition } from "./tracePosition";

export interface RowSearch {
  /** Progress or failure of the search; "" for none. */
  status: string;
  /** Finds the next odd row after (1) or before (-1) a row. */
  findOdd: (row: number, step: 1 | -1) => void;
  /** Goes to an entry or a time. exact: removes the filters if they hide the entry. */
  goTo: (place: TracePosition, exact?: boolean) => void;
}

/**
 * Searches for rows of a trace, one search at a time. onFound receives the row that was found. A
 * new search cancels the previous one, which then reports nothing.
 */
export function useRowSearch(model: FlowModel, onFound: (row: number) => void): RowSearch {
  const [said, setSaid] = useState("");
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const look = async (find: (signal: AbortSignal) => Promise<number | null>, nothing: string) => {
    running.current?.abort();
    const search = new AbortController();
    running.current = search;
    setSaid("Searching…");
    try {
      const row = await find(search.signal);
      if (search.signal.aborted) return;
      setSaid(row === null ? nothing : "");
      if (row !== null) onFound(row);
    } catch (error) {
      if (!search.signal.aborted) setSaid(`Search failed: ${error instanceof Error ? error.message : error}`);
    }
  };

  const odd = (row: number, step: 1 | -1) => {
    const nothing = step > 0 ? "No problem after this." : "No problem before this.";
    void look((signal) => findOddRow(model.base, model.get().filters, row, step, signal), nothing);
  };
  const place = (to: TracePosition, exact = false) => {
    const find = async (signal: AbortSignal) => {
      const { filters } = model.get();
      const found = await findFirstRow(model.base, filters, (entry) => isAtOrAfter(entry, to), signal);
      if (!exact || !("seq" in to) || found?.entry.seq === to.seq) return found?.row ?? null;
      const among = await findFirstRow(model.base, initialFilters, (entry) => isAtOrAfter(entry, to), signal);
      signal.throwIfAborted();
      const isShown = among?.entry.seq === to.seq && !filters.streams;
      model.setFilters(isShown ? initialFilters : noFilters);
      return isShown ? among.row : to.seq - 1;
    };
    void look(find, "Nothing found.");
  };
  return { status: said, findOdd: odd, goTo: place };
}

function isAtOrAfter(entry: { seq: number; ms: number }, place: TracePosition): boolean {
  return "seq" in place ? entry.seq >= place.seq : entry.ms >= place.ms;
}
