import { type Entry, readEntries } from "../protocol/messages";
import { tracePageSchema } from "../protocol/session.gen";
import { getJSON, type QueryParameters } from "./client";

/** A page of a trace. */
export interface TracePage {
  entries: readonly Entry[];
  /** The first entry of the next page; null: there is none. */
  next: number | null;
}

/** Loads a page of a trace. base is the path of the session or attempt in the API. */
export async function readTracePage(base: string, query: QueryParameters, signal?: AbortSignal): Promise<TracePage> {
  const { entries, next } = await getJSON(`${base}/trace`, tracePageSchema, query, signal);
  return { entries: readEntries(entries), next };
}

/** Yields the pages of a trace from entry query.from on, by default from the first. */
export async function* readTrace(
  base: string,
  query: QueryParameters & { from?: number },
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  let from: number | null = query.from ?? 1;
  while (from !== null) {
    const page: TracePage = await readTracePage(base, { limit: 5000, ...query, from }, signal);
    yield page.entries;
    from = page.next !== null && page.next > from ? page.next : null;
  }
}
