// Saves the notebook of a holder while the page is reloaded: in the session storage, or in the
// page's database if it is too large for that.

import { readTab, writeTab } from "../browser/tabStorage";
import type { WireCell } from "../protocol/wire.gen";
import type { State } from "../store/state";

const databaseName = "assay";
const tableName = "notebooks";

/** Value in the session storage that says that the notebook is in the database instead. */
const inDatabaseMarker = "indexeddb";

/** Returns the cells of a notebook in order, in the format of messages. */
export function wireCellsOf({ notebook }: State): WireCell[] {
  return notebook.order.flatMap((id) => {
    const cell = notebook.cells[id];
    if (cell === undefined) return [];
    const by = cell.lastChange === undefined ? {} : { by: cell.lastChange.by };
    return { cell_id: id, cell_type: cell.type, source: cell.source, display_name: cell.title, rev: cell.rev, ...by };
  });
}

function storageKey(consoleId: number, session: string): string {
  return `assay.notebook.${consoleId}.${session}`;
}

const previousKey = (console: number, session: string) => `${storageKey(console, session)}.before`;
const attemptKey = (console: number, session: string) => `${storageKey(console, session)}.attempt`;

/** How many milliseconds one operation on the browser's database may take. */
const databaseTimeoutMs = 5_000;

/** Saves a notebook in the browser. Rejects if there is no room. */
export function saveNotebook(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return writeStorage(storageKey(console, session), JSON.stringify(cells));
}

/**
 * Saves the notebook of a finished attempt beside the current one; an empty list removes it.
 * Rejects if there is no room.
 */
export function savePreviousNotebook(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return writeStorage(previousKey(console, session), JSON.stringify(cells));
}

/** Saves which attempt the notebook belongs to, as the name of its trace; "" means none. */
export function saveAttempt(console: number, session: string, attempt: string): void {
  writeTab(attemptKey(console, session), attempt);
}

/** Returns the trace of the attempt that the saved notebook belongs to; "" if none was saved. */
export function loadAttempt(console: number, session: string): string {
  return readTab(attemptKey(console, session)) ?? "";
}

async function writeStorage(key: string, text: string): Promise<void> {
  if (writeTab(key, text)) return;
  await requestFromTable("readwrite", (store) => store.put(text, key));
  if (!writeTab(key, inDatabaseMarker)) throw new Error("the session storage cannot be written");
}

async function readStorage(key: string): Promise<string | null> {
  const text_ = readTab(key);
  const text = text_ === inDatabaseMarker ? await requestFromTable("readonly", (store) => store.get(key)) : text_;
  return typeof text === "string" ? text : null;
}

/** Returns the saved notebook as parsed JSON; null if none was saved. */
export function loadNotebook(console: number, session: string): Promise<unknown> {
  return readJSON(storageKey(console, session));
}

/** Returns the saved notebook of a finished attempt as parsed JSON; null if none was saved. */
export function loadPreviousNotebook(console: number, session: string): Promise<unknown> {
  return readJSON(previousKey(console, session));
}

async function readJSON(key: string): Promise<unknown> {
  try {
    const text = await readStorage(key);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function requestFromTable(mode: IDBTransactionMode, start: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("the database does not answer")), databaseTimeoutMs);
    const opening = indexedDB.open(databaseName, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(tableName);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      try {
        const request = start(opening.result.transaction(tableName, mode).objectStore(tableName));
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      } catch (error) {
        reject(error);
      }
    };
  });
}
