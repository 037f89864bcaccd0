// What a person has typed, cell by cell, and how it goes together with what comes
// from the server: our own words come back as echoes, and somebody else's are to
// be shown at once where nothing of ours is lost by it.

import type { Store } from "../store/store";
import { cellOf, sourceOf } from "./text";

export interface Drafts {
  /** The text of the cell as this screen has it: what was typed, else what the store knows. */
  text(id: string): string;
  /** Calls f when a text has changed, until what it returns is called. */
  subscribe(f: () => void): () => void;
  /** A person has changed the text. */
  typed(id: string, text: string): void;
  /** The cell has another text on this screen, which is nothing to tell others of. */
  put(id: string, text: string): void;
  /** Something was typed that has not come back from the server yet. */
  unsaved(id: string): boolean;
  /** What an editor leaves behind when it is closed, such as its history, for the next of that cell. */
  memory: Map<string, unknown>;
  /** Forgets the cell. */
  drop(id: string): void;
  /** Follows the store until what it returns is called. */
  follow(): () => void;
}

interface Draft {
  text: string;
  /** What the store said last. */
  known: string;
  /** What we said and what has not come back, oldest first. */
  said: { text: string; at: number }[];
}

/** An echo that has not come after so long will not come: an edit that changes nothing makes none. */
const echoMs = 10_000;
const maxSaid = 256;

/** say tells others what was typed; now is a clock in milliseconds. */
export function createDrafts(
  store: Store,
  say: (id: string, text: string) => void,
  now: () => number = () => performance.now(),
): Drafts {
  const drafts = new Map<string, Draft>();
  const memory = new Map<string, unknown>();
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const f of [...listeners]) f();
  };
  const drop = (id: string) => {
    drafts.delete(id);
    memory.delete(id);
  };
  const settle = () => {
    let changed = false;
    for (const [id, draft] of drafts) {
      if (cellOf(store.get(), id) === null) continue;
      const source = sourceOf(store.get(), id);
      if (source === draft.known) continue;
      changed = hear(draft, source, now()) || changed;
    }
    if (changed) tell();
  };
  return {
    text: (id) => drafts.get(id)?.text ?? sourceOf(store.get(), id),
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    typed(id, text) {
      const draft = drafts.get(id) ?? { text: "", known: sourceOf(store.get(), id), said: [] };
      if (draft.text === text && drafts.has(id)) return;
      draft.text = text;
      draft.said = [...draft.said.slice(1 - maxSaid), { text, at: now() }];
      drafts.set(id, draft);
      say(id, text);
      tell();
    },
    put(id, text) {
      drafts.set(id, { text, known: sourceOf(store.get(), id), said: [] });
      tell();
    },
    unsaved: (id) => {
      const draft = drafts.get(id);
      return draft !== undefined && draft.text !== draft.known;
    },
    memory,
    drop,
    follow() {
      let cells = store.get().notebook.cells;
      return store.subscribe(() => {
        const next = store.get().notebook.cells;
        if (next === cells) return;
        cells = next;
        settle();
      });
    },
  };
}

/** Takes in what the store says now; true: the text has become that. */
function hear(draft: Draft, source: string, now: number): boolean {
  const clean = draft.text === draft.known;
  draft.known = source;
  if (source === draft.text) {
    draft.said = [];
    return false;
  }
  const echo = draft.said.findIndex((said) => said.text === source && now - said.at < echoMs);
  if (echo >= 0) {
    draft.said = draft.said.slice(echo + 1);
    return false;
  }
  if (!clean) return false; // theirs and ours differ: the conflict is told elsewhere
  draft.text = source;
  draft.said = [];
  return true;
}
