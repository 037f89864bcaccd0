// The user's unsaved texts by cell, merged with the sources that come from the server: echoes of
// the user's own edits are recognised, and other people's edits are shown at once if no text of the
// user is lost.

import type { Store } from "../store/store";
import { cellOf, sourceOf } from "./cellSelectors";

export interface Drafts {
  /** Returns the cell's text on this page: the draft if there is one, else the source in the store. */
  text(id: string): string;
  /** Calls f after a text has changed, until the returned function is called. */
  subscribe(f: () => void): () => void;
  /** Records an edit by the user and sends it. */
  recordEdit(id: string, text: string): void;
  /** Sets the cell's text on this page without sending it. */
  setLocally(id: string, text: string): void;
  /** Reports whether a text was typed that has not come back from the server yet. */
  hasUnsavedText(id: string): boolean;
  /**
   * Editor states (with undo history) by cell id, kept when an editor is closed and used when it
   * opens again.
   */
  editorStates: Map<string, unknown>;
  /** Discards the cell's draft and editor state. */
  discard(id: string): void;
  /** Applies source changes of the store until the returned function is called. */
  followStore(): () => void;
}

interface CellDraft {
  text: string;
  /** The store's last source. */
  lastSource: string;
  /** Texts that were sent and have not come back, oldest first; at is in milliseconds. */
  sentTexts: { text: string; at: number }[];
}

/**
 * For how many milliseconds after an edit was sent a source with the same text counts as its echo.
 * Later it is another's edit: an edit that changes nothing has no echo.
 */
const echoTimeoutMs = 10_000;
const maxSentTexts = 256;

/**
 * Creates the texts of the cells on this page. send sends an edit to the server; now returns the
 * current time in milliseconds.
 */
export function createCellDrafts(
  store: Store,
  send: (id: string, text: string) => void,
  now: () => number = () => performance.now(),
): Drafts {
  const drafts = new Map<string, CellDraft>();
  const memory = new Map<string, unknown>();
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const f of [...listeners]) f();
  };
  const drop = (id: string) => {
    drafts.delete(id);
    memory.delete(id);
  };
  const applyStoreChanges = () => {
    let changed = false;
    for (const [id, draft] of drafts) {
      if (cellOf(store.get(), id) === null) continue;
      const source = sourceOf(store.get(), id);
      if (source === draft.lastSource) continue;
      changed = applySourceToDraft(draft, source, now()) || changed;
    }
    if (changed) notify();
  };
  return {
    text: (id) => drafts.get(id)?.text ?? sourceOf(store.get(), id),
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    recordEdit(id, text) {
      const draft = drafts.get(id) ?? { text: "", lastSource: sourceOf(store.get(), id), sentTexts: [] };
      if (draft.text === text && drafts.has(id)) return;
      draft.text = text;
      draft.sentTexts = [...draft.sentTexts.slice(1 - maxSentTexts), { text, at: now() }];
      drafts.set(id, draft);
      send(id, text);
      notify();
    },
    setLocally(id, text) {
      drafts.set(id, { text, lastSource: sourceOf(store.get(), id), sentTexts: [] });
      notify();
    },
    hasUnsavedText: (id) => {
      const draft = drafts.get(id);
      return draft !== undefined && draft.text !== draft.lastSource;
    },
    editorStates: memory,
    discard: drop,
    followStore() {
      let cells = store.get().notebook.cells;
      return store.subscribe(() => {
        const next = store.get().notebook.cells;
        if (next === cells) return;
        cells = next;
        applyStoreChanges();
      });
    },
  };
}

/**
 * Applies a new source of a cell from the store to its draft. Returns true if it became the draft's
 * text, false if it is an echo or the draft has unsent text.
 */
function applySourceToDraft(draft: CellDraft, source: string, now: number): boolean {
  const isUnchanged = draft.text === draft.lastSource;
  draft.lastSource = source;
  if (source === draft.text) {
    draft.sentTexts = [];
    return false;
  }
  const echoIndex = draft.sentTexts.findIndex((said) => said.text === source && now - said.at < echoTimeoutMs);
  if (echoIndex >= 0) {
    draft.sentTexts = draft.sentTexts.slice(echoIndex + 1);
    return false;
  }
  if (!isUnchanged) return false; // both have changed the cell: ConflictBar shows that
  draft.text = source;
  draft.sentTexts = [];
  return true;
}
