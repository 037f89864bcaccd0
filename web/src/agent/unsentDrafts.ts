import { readTabStorage, removeFromTabStorage, writeTabStorage } from "../browser/tabStorage";
import {
  boolean,
  integer,
  list,
  listOfAll,
  nonEmpty,
  object,
  optional,
  read,
  required,
  type Schema,
  string,
} from "../json/schema";
import type { SavedEdit, UnsentEdits } from "./edits";
import type { SessionServices } from "./sessionServices";
import type { SentQuery } from "./unconfirmedMessages";

/** Saves edits and queries that have not arrived at the server, so that they survive a reload of the page. */
export class UnsentDrafts {
  /** What was saved is loaded, so it may be overwritten. */
  private isLoaded = false;

  constructor(
    private readonly session: string,
    private readonly services: SessionServices,
    private readonly edits: UnsentEdits,
  ) {}

  load(): void {
    this.isLoaded = true;
    this.edits.load(takeSavedList(editsKey(this.session), savedEditSchema));
    this.services.unconfirmed.load(takeSavedList(queriesKey(this.session), sentQuerySchema));
  }

  /** Called when the user leaves the page. */
  save(): void {
    if (!this.isLoaded) return;
    saveEdits(this.session, this.edits.save());
    saveQueries(this.session, this.services.unconfirmed.save());
  }

  /** Called when a text could not be sent. Warns if it cannot be saved either. */
  saveUnsentEdits(): void {
    if (saveEdits(this.session, this.edits.save())) return;
    const text =
      "There is no room to save what you typed: do not close or reload this page before the connection is back.";
    this.services.notices.add("error", text);
  }

  /** Called when all edits are on their way to the server. Those that fail are saved again. */
  clearEdits(): void {
    saveEdits(this.session, []);
  }
}

const editsKey = (session: string) => `assay.edits.${session}`;
const queriesKey = (session: string) => `assay.asked.${session}`;

/**
 * Saves unsent edits in the browser; an empty list removes them. Returns false if there is no room
 * or the browser forbids storage.
 */
function saveEdits(session: string, edits: readonly SavedEdit[]): boolean {
  if (edits.length > 0) return writeTabStorage(editsKey(session), JSON.stringify(edits));
  removeFromTabStorage(editsKey(session));
  return true;
}

/** Saves unconfirmed queries in the browser; an empty list removes them. */
function saveQueries(session: string, queries: readonly SentQuery[]): void {
  if (queries.length === 0) removeFromTabStorage(queriesKey(session));
  else writeTabStorage(queriesKey(session), JSON.stringify(queries));
}

const savedEditSchema = object<SavedEdit>({
  id: required(string),
  text: required(string),
  base: required(object<SavedEdit["base"]>({ source: required(string), rev: required(integer) })),
  conflict: optional(boolean),
  sent: optional(listOfAll(string)),
});

const sentQuerySchema = object<SentQuery>({
  type: required(nonEmpty as Schema<"agent_query">),
  query: required(string),
  request_id: required(string),
});

/** Removes a saved list from the browser's storage and returns its valid items. */
function takeSavedList<T>(key: string, item: Schema<T>): readonly T[] {
  const saved = readTabStorage(key) ?? "[]";
  removeFromTabStorage(key);
  try {
    return read(list(item), JSON.parse(saved));
  } catch {
    return [];
  }
}
