// What a person does with the notebook on this screen, and nobody else knows of:
// what is selected, what is folded, what is open.

import type { Removed } from "./removed";

export interface ViewState {
  /** Id of the selected cell; null: there is none. */
  selected: string | null;
  /** Id of the cell that is pointed at: its controls show, and no other's; null: none is. */
  hovered: string | null;
  /** The keyboard belongs to the editor of the selected cell. */
  editing: boolean;
  /** Counts the requests to put the focus on the selected cell, or into its editor. */
  focus: number;
  /** Counts the requests to bring the selected cell into view. */
  reveal: number;
  /** Cells whose text a person has been in: they keep an editor while they are on screen. */
  live: ReadonlySet<string>;
  /** Cells whose outputs are folded away. */
  folded: ReadonlySet<string>;
  /** A line about what has just happened; null: nothing worth a line. */
  note: Note | null;
  dialog: "keys" | "restart" | null;
  /** Counts the requests to find something; 0: the search is closed. */
  finding: number;
  /** The text that was found last; null: none. */
  hit: Hit | null;
  /** The cell that was jumped to; `count` tells one jump from the next. */
  flash: { id: string; count: number } | null;
  /** A cell is dragged, and would come to stand before the one at this place. */
  drop: number | null;
}

export interface Note {
  tone: "neutral" | "bad";
  text: string;
  /** What "Undo" brings back; absent: there is nothing to undo. */
  removed?: Removed;
}

/** A range of a cell's source, in UTF-16 units, or of what the cell has shown. */
export interface Hit {
  id: string;
  from: number;
  to: number;
  /** The text is there for the n-th time, from 0, in what the cell has shown; null: it is in the source. */
  shown: { text: string; nth: number } | null;
}

export interface View {
  get(): ViewState;
  set(change: Partial<ViewState>): void;
  subscribe(f: () => void): () => void;
  /** The cell that gets the focus, or whose editor does, as soon as it is drawn; null: it has got it. */
  wants: string | null;
  /** Where the caret goes when the editor of the selected cell opens next; null: it stays. */
  caret: Caret | null;
}

/** What is selected in a text: from the anchor to the head, where the caret is. */
export interface Caret {
  anchor: number;
  head: number;
}

const first: ViewState = {
  selected: null,
  hovered: null,
  editing: false,
  focus: 0,
  reveal: 0,
  live: new Set(),
  folded: new Set(),
  note: null,
  dialog: null,
  finding: 0,
  hit: null,
  flash: null,
  drop: null,
};

export function createView(): View {
  let state = first;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set(change) {
      const next = { ...state, ...change };
      if ((Object.keys(change) as (keyof ViewState)[]).every((key) => Object.is(next[key], state[key]))) return;
      state = next;
      for (const f of [...listeners]) f();
    },
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    wants: null,
    caret: null,
  };
}

/** The set with one more, or the same one when it has it. */
export function withId(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return set.has(id) ? set : new Set(set).add(id);
}

/** The set without one, or the same one when it has it not. */
export function withoutId(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  if (!set.has(id)) return set;
  const rest = new Set(set);
  rest.delete(id);
  return rest;
}
