// The notebook that this page holds, kept while the page is loaded again: in the
// session storage, and what is too large for that in the page's database.

import { readTab, writeTab } from "../browser/tabStorage";
import type { WireCell } from "../protocol/messages";
import type { State } from "../store/state";

const database = "assay";
const table = "notebooks";

/** What stands in the session storage for a notebook that is in the database. */
const elsewhere = "indexeddb";

export function cellsToKeep({ notebook }: State): WireCell[] {
  return notebook.order.flatMap((id) => {
    const cell = notebook.cells[id];
    if (cell === undefined) return [];
    const by = cell.touched === undefined ? {} : { by: cell.touched.by };
    return { cell_id: id, cell_type: cell.type, source: cell.source, display_name: cell.title, rev: cell.rev, ...by };
  });
}

function keyOf(console: number, session: string): string {
  return `assay.notebook.${console}.${session}`;
}

const asideOf = (console: number, session: string) => `${keyOf(console, session)}.before`;
const attemptOf = (console: number, session: string) => `${keyOf(console, session)}.attempt`;

/** How long the database may take, in milliseconds. */
const within = 5_000;

/** Keeps a notebook. It is rejected when there is no room. */
export function keepDocument(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return put(keyOf(console, session), JSON.stringify(cells));
}

/** The same, beside the notebook that there is: of an attempt that is over; empty: there is none any more. */
export function keepAside(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return put(asideOf(console, session), JSON.stringify(cells));
}

/** Keeps which attempt the notebook is of, by the name of its trace; "": it is of none. */
export function keepAttempt(console: number, session: string, attempt: string): void {
  writeTab(attemptOf(console, session), attempt);
}

export function keptAttempt(console: number, session: string): string {
  return readTab(attemptOf(console, session)) ?? "";
}

async function put(key: string, text: string): Promise<void> {
  if (writeTab(key, text)) return;
  await inTable("readwrite", (store) => store.put(text, key));
  if (!writeTab(key, elsewhere)) throw new Error("the session storage cannot be written");
}

async function kept(key: string): Promise<string | null> {
  const here = readTab(key);
  const text = here === elsewhere ? await inTable("readonly", (store) => store.get(key)) : here;
  return typeof text === "string" ? text : null;
}

/** The notebook that was kept, as JSON; null: there is none. */
export function keptDocument(console: number, session: string): Promise<unknown> {
  return read(keyOf(console, session));
}

/** What was kept beside it. */
export function keptAside(console: number, session: string): Promise<unknown> {
  return read(asideOf(console, session));
}

async function read(key: string): Promise<unknown> {
  try {
    const text = await kept(key);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function inTable(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("the database does not answer")), within);
    const opening = indexedDB.open(database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(table);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      try {
        const asked = ask(opening.result.transaction(table, mode).objectStore(table));
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = () => reject(asked.error);
      } catch (error) {
        reject(error);
      }
    };
  });
}
