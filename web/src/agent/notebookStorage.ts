// Saves the notebook of a holder while the page is reloaded: in the session storage, or in the
// page's database if it is too large for that.

import { readTabStorage, writeTabStorage } from "../browser/tabStorage";
import type { WireCell } from "../protocol/wire.gen";
import type { State } from "../store/state";

const notebookDatabaseName = "assay";
const notebookTableName = "notebooks";

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

function notebookStorageKey(consoleId: number, session: string): string {
  return `assay.notebook.${consoleId}.${session}`;
}

const previousNotebookKey = (console: number, session: string) => `${notebookStorageKey(console, session)}.before`;
const notebookAttemptKey = (console: number, session: string) => `${notebookStorageKey(console, session)}.attempt`;

/** How many milliseconds one operation on the browser's database may take. */
const databaseTimeoutMs = 5_000;

/** Saves a notebook in the browser. Rejects if there is no room. */
export function saveNotebook(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return writeTabOrDatabase(notebookStorageKey(console, session), JSON.stringify(cells));
}

/**
 * Saves the notebook of a finished attempt beside the current one; an empty list removes it.
 * Rejects if there is no room.
 */
export function savePreviousNotebook(console: number, session: string, cells: readonly WireCell[]): Promise<void> {
  return writeTabOrDatabase(previousNotebookKey(console, session), JSON.stringify(cells));
}

/** Saves which attempt the notebook belongs to, as the name of its trace; "" means none. */
export function saveAttemptOfNotebook(console: number, session: string, attempt: string): void {
  writeTabStorage(notebookAttemptKey(console, session), attempt);
}

/** Returns the trace of the attempt that the saved notebook belongs to; "" if none was saved. */
export function loadAttemptOfNotebook(console: number, session: string): string {
  return readTabStorage(notebookAttemptKey(console, session)) ?? "";
}

async function writeTabOrDatabase(key: string, text: string): Promise<void> {
  if (writeTabStorage(key, text)) return;
  await requestFromNotebookTable("readwrite", (store) => store.put(text, key));
  if (!writeTabStorage(key, inDatabaseMarker)) throw new Error("the session storage cannot be written");
}

async function readTabOrDatabase(key: string): Promise<string | null> {
  const text_ = readTabStorage(key);
  const text =
    text_ === inDatabaseMarker ? await requestFromNotebookTable("readonly", (store) => store.get(key)) : text_;
  return typeof text === "string" ? text : null;
}

/** Returns the saved notebook as parsed JSON; null if none was saved. */
export function loadNotebook(console: number, session: string): Promise<unknown> {
  return readStoredJSON(notebookStorageKey(console, session));
}

/** Returns the saved notebook of a finished attempt as parsed JSON; null if none was saved. */
export function loadPreviousNotebook(console: number, session: string): Promise<unknown> {
  return readStoredJSON(previousNotebookKey(console, session));
}

async function readStoredJSON(key: string): Promise<unknown> {
  try {
    const text = await readTabOrDatabase(key);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function requestFromNotebookTable(
  mode: IDBTransactionMode,
  start: (store: IDBObjectStore) => IDBRequest,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("the database does not answer")), databaseTimeoutMs);
    const opening = indexedDB.open(notebookDatabaseName, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(notebookTableName);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      try {
        const request = start(opening.result.transaction(notebookTableName, mode).objectStore(notebookTableName));
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      } catch (error) {
        reject(error);
      }
    };
  });
}
