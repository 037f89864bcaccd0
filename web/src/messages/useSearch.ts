import { useEffect, useRef, useState } from "react";
import { firstFilters, noFilters } from "./filters";
import type { FlowModel } from "./model";
import type { Place } from "./place";
import { findOdd, findRow } from "./scan";

export interface Search {
  /** What is being looked for, or was not found; "" is nothing. */
  said: string;
  /** The next odd one behind a row, or before it. */
  odd: (row: number, step: 1 | -1) => void;
  /** An entry or a time. exact: the filters are taken out if the entry is not among what they pick. */
  place: (place: Place, exact?: boolean) => void;
}

/** Looks for rows, one search at a time, and tells of what it has found. */
export function useSearch(model: FlowModel, onFound: (row: number) => void): Search {
  const [said, setSaid] = useState("");
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const look = async (find: (signal: AbortSignal) => Promise<number | null>, nothing: string) => {
    running.current?.abort();
    const search = new AbortController();
    running.current = search;
    setSaid("Looking…");
    try {
      const row = await find(search.signal);
      if (search.signal.aborted) return;
      setSaid(row === null ? nothing : "");
      if (row !== null) onFound(row);
    } catch (error) {
      if (!search.signal.aborted)
        setSaid(`It could not be looked for: ${error instanceof Error ? error.message : error}`);
    }
  };

  const odd = (row: number, step: 1 | -1) => {
    const nothing = step > 0 ? "Nothing odd behind this." : "Nothing odd before this.";
    void look((signal) => findOdd(model.base, model.get().filters, row, step, signal), nothing);
  };
  const place = (to: Place, exact = false) => {
    const find = async (signal: AbortSignal) => {
      const { filters } = model.get();
      const found = await findRow(model.base, filters, (entry) => isAt(entry, to), signal);
      if (!exact || !("seq" in to) || found?.entry.seq === to.seq) return found?.row ?? null;
      const among = await findRow(model.base, firstFilters, (entry) => isAt(entry, to), signal);
      signal.throwIfAborted();
      const isShown = among?.entry.seq === to.seq && !filters.streams;
      model.setFilters(isShown ? firstFilters : noFilters);
      return isShown ? among.row : to.seq - 1;
    };
    void look(find, "There is nothing.");
  };
  return { said, odd, place };
}

function isAt(entry: { seq: number; ms: number }, place: Place): boolean {
  return "seq" in place ? entry.seq >= place.seq : entry.ms >= place.ms;
}
