import { createContext, useContext, useSyncExternalStore } from "react";
import type { Entry, NotebookStateMessage } from "../protocol/messages";
import { initialState, reduceEntries, restoreState } from "./reducer";
import type { State } from "./state";

/** Holds the state of one session: a live one, a watched one, or one moment of a stored trace. */
export interface Store {
  get(): State;
  /** Calls listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Applies entries, in order, as one change. */
  apply(entries: readonly Entry[]): void;
  /** Replaces the notebook. The agent's part of the state stays. */
  restore(state: NotebookStateMessage): void;
  /** Changes something that no entry reports, such as that the connection to the kernel is lost. */
  update(change: (state: State) => State): void;
}

/** Returns a store with the given state. */
export function createStore(first: State = initialState): Store {
  let state = first;
  const listeners = new Set<() => void>();
  const set = (next: State) => {
    if (next === state) return;
    state = next;
    for (const listener of [...listeners]) listener();
  };
  return {
    get: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    apply: (entries) => set(reduceEntries(state, entries)),
    restore: (message) => set(restoreState(state, message)),
    update: (change) => set(change(state)),
  };
}

const StoreContext = createContext<Store | null>(null);

/** Sets the store that the components below read. */
export const StoreProvider = StoreContext.Provider;

/** Returns the store of the nearest StoreProvider. Throws if there is none. */
export function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === null) throw new Error("no StoreProvider above");
  return store;
}

/** Returns what select picks of the state. The component is rendered again when that changes (by Object.is). */
export function useSelect<T>(select: (state: State) => T): T {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
