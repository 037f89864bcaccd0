// The notebook that this page holds, kept while the page is loaded again: in the
// session storage, and what is too large for that in the page's database.

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

/** Keeps a notebook. It is rejected when there is no room. */
export async function keepDocument(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  const key = keyOf(console, session);
  const text = JSON.stringify(cells);
  try {
    sessionStorage.setItem(key, text);
  } catch {
    await inTable("readwrite", (store) => store.put(text, key));
    sessionStorage.setItem(key, elsewhere);
  }
}

/** The notebook that was kept, as JSON; null: there is none. */
export async function keptDocument(console: number, session: string): Promise<unknown> {
  const key = keyOf(console, session);
  try {
    const kept = sessionStorage.getItem(key);
    const text = kept === elsewhere ? await inTable("readonly", (store) => store.get(key)) : kept;
    return typeof text === "string" ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function inTable(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(table);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const asked = ask(opening.result.transaction(table, mode).objectStore(table));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    };
  });
}
