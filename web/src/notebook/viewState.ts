// The state of the notebook that exists on this page only: what is selected, hidden or open.

import type { DeletedCell } from "./deletedCells";

export interface ViewState {
  /** Id of the selected cell; null: none. */
  selected: string | null;
  /** Id of the cell under the pointer, the only one to show its controls; null: none. */
  hovered: string | null;
  /** The editor of the selected cell has the focus. */
  editing: boolean;
  /** Number of requests to focus the selected cell or its editor. */
  focusRequests: number;
  /** Number of requests to scroll to the selected cell. */
  revealRequests: number;
  /** Cells that the user has edited: they keep their editor while they are on screen. */
  cellsWithEditor: ReadonlySet<string>;
  /** Cells whose outputs are hidden. */
  cellsWithHiddenOutputs: ReadonlySet<string>;
  /** A line about what has just happened; null: none. */
  note: NotebookNote | null;
  dialog: "keys" | "restart" | null;
  /** Number of requests to search; 0: the search is closed. */
  findRequests: number;
  /** The current search hit; null: none. */
  searchHit: SearchHit | null;
  /** The cell to highlight after a jump; count distinguishes successive jumps. */
  jumpHighlight: { id: string; count: number } | null;
  /** Index before which the dragged cell would be inserted; null: no drag. */
  dropIndex: number | null;
}

export interface NotebookNote {
  tone: "neutral" | "bad";
  text: string;
  /** The cell that Undo restores; absent: no Undo. */
  deletedCell?: DeletedCell;
}

/** A range of a search hit in a cell's source, in UTF-16 units, or in the text of its outputs. */
export interface SearchHit {
  id: string;
  from: number;
  to: number;
  /** The hit is in the outputs: nth counts the earlier hits there; null: it is in the source. */
  inOutputs: { text: string; nth: number } | null;
}

export interface ViewStore {
  get(): ViewState;
  set(change: Partial<ViewState>): void;
  subscribe(f: () => void): () => void;
  /** Id of the cell that should be focused, or its editor, as soon as it is drawn; null: none. */
  pendingFocus: string | null;
  /** Selection for the next opening of the selected cell's editor; null: unchanged. */
  pendingCaret: CaretSelection | null;
}

/** A selection in a cell's text, in UTF-16 units, from anchor to head; the caret is at head. */
export interface CaretSelection {
  anchor: number;
  head: number;
}

const initialViewState: ViewState = {
  selected: null,
  hovered: null,
  editing: false,
  focusRequests: 0,
  revealRequests: 0,
  cellsWithEditor: new Set(),
  cellsWithHiddenOutputs: new Set(),
  note: null,
  dialog: null,
  findRequests: 0,
  searchHit: null,
  jumpHighlight: null,
  dropIndex: null,
};

export function createViewStore(): ViewStore {
  let state = initialViewState;
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
    pendingFocus: null,
    pendingCaret: null,
  };
}

/** Returns a set of ids with one added; the same set if it contains the id already. */
export function withId(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return set.has(id) ? set : new Set(set).add(id);
}

/** Returns a set of ids with one removed; the same set if it does not contain the id. */
export function withoutId(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  if (!set.has(id)) return set;
  const rest = new Set(set);
  rest.delete(id);
  return rest;
}
