// The state and services that the parts of one notebook on screen share.

import { createContext, useContext, useSyncExternalStore } from "react";
import type { Commands } from "../commands/commands";
import type { Store } from "../store/store";
import { type ChangeTimes, createChangeTimes } from "./changeTimes";
import { createDeletedCells, type DeletedCells } from "./deletedCells";
import { createCellDrafts, type Drafts } from "./drafts";
import { createKeyBuffer, type KeyBuffer } from "./keyBuffer";
import { createViewStore, type ViewState, type ViewStore } from "./viewState";

export interface NotebookContext {
  store: Store;
  view: ViewStore;
  drafts: Drafts;
  deletedCells: DeletedCells;
  changeTimes: ChangeTimes;
  keyBuffer: KeyBuffer;
  /** Returns the current commands; null: the notebook is read-only. */
  commands(): Commands | null;
  /**
   * Ids of cells that this page has asked to delete or replace: their removal is not reported to
   * the user.
   */
  pendingDeletions: Set<string>;
  /** The last key, if it may be the first of a two-key shortcut, and its time in milliseconds; null: none. */
  pendingKey: { name: string; at: number } | null;
}

/**
 * Creates the context that a notebook's components share. commands returns the current commands;
 * null if the notebook is read-only.
 */
export function createNotebookContext(store: Store, commands: () => Commands | null): NotebookContext {
  return {
    store,
    view: createViewStore(),
    drafts: createCellDrafts(store, (id, text) => commands()?.editCell(id, text)),
    deletedCells: createDeletedCells(),
    changeTimes: createChangeTimes(store),
    keyBuffer: createKeyBuffer(),
    commands,
    pendingDeletions: new Set(),
    pendingKey: null,
  };
}

const NotebookReactContext = createContext<NotebookContext | null>(null);

export const NotebookContextProvider = NotebookReactContext.Provider;

export function useNotebookContext(): NotebookContext {
  const context = useContext(NotebookReactContext);
  if (context === null) throw new Error("no Notebook above");
  return context;
}

/**
 * Returns what select reads from the notebook's view state, and re-renders the component when that
 * changes (by Object.is).
 */
export function useViewState<T>(select: (state: ViewState) => T): T {
  const { view } = useNotebookContext();
  return useSyncExternalStore(view.subscribe, () => select(view.get()));
}

/**
 * Returns what pick reads from a cell's text on this page, and re-renders the component when that
 * changes.
 */
export function useCellText<T>(id: string, pick: (text: string) => T): T {
  const { store, drafts } = useNotebookContext();
  return useSyncExternalStore(
    (f) => {
      const stops = [store.subscribe(f), drafts.subscribe(f)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => pick(drafts.text(id)),
  );
}
