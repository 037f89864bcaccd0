import { fieldsOf, listOf, numberOf, textOf } from "../json/read";
import type { Entry } from "../protocol/messages";
import { getJSON, type Query } from "./client";

/** Some entries of a trace, as they came. */
export interface TracePage {
  entries: readonly Entry[];
  /** The seq to ask on with; null: there are no more. */
  next: number | null;
}

/** A page of a trace. base is the path of the session or attempt in the API. */
export async function readTracePage(base: string, query: Query, signal?: AbortSignal): Promise<TracePage> {
  const { entries, next } = fieldsOf(await getJSON(`${base}/trace`, query, signal));
  return { entries: listOf(entries).filter(isEntry), next: numberOf(next) };
}

/** All pages of a trace, each as it comes. */
export async function* readTrace(base: string, query: Query, signal: AbortSignal): AsyncGenerator<readonly Entry[]> {
  let from: number | null = numberOf(query.from) ?? 1;
  while (from !== null) {
    const page: TracePage = await readTracePage(base, { limit: 5000, ...query, from }, signal);
    yield page.entries;
    from = page.next !== null && page.next > from ? page.next : null;
  }
}

/** Whether it may be taken for an entry; whoever folds one checks what is in it. */
export function isEntry(value: unknown): value is Entry {
  const { seq, hop } = fieldsOf(value);
  return numberOf(seq) !== null && textOf(hop) !== "";
}
