import { createContext, useContext, useSyncExternalStore } from "react";
import type { Entry, NotebookStateMessage } from "../protocol/messages";
import { initial, reduceAll, restore } from "./reducer";
import type { State } from "./state";

/** Holds the state of one session: the live one, one that is watched, or one moment of a trace. */
export interface Store {
  get(): State;
  /** Calls f after each change, until what it returns is called. */
  subscribe(f: () => void): () => void;
  /** Takes entries in, in order, as one change. */
  apply(entries: readonly Entry[]): void;
  /** Puts another notebook in the place of the one there is. The agent's part stays. */
  restore(state: NotebookStateMessage): void;
  /** Changes what no entry tells, such as that the connection to the kernel was lost. */
  update(f: (state: State) => State): void;
}

export function createStore(first: State = initial): Store {
  let state = first;
  const listeners = new Set<() => void>();
  const set = (next: State) => {
    if (next === state) return;
    state = next;
    for (const f of [...listeners]) f();
  };
  return {
    get: () => state,
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    apply: (entries) => set(reduceAll(state, entries)),
    restore: (message) => set(restore(state, message)),
    update: (f) => set(f(state)),
  };
}

const StoreContext = createContext<Store | null>(null);

/** Says which session the components below show. */
export const StoreProvider = StoreContext.Provider;

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === null) throw new Error("no StoreProvider above");
  return store;
}

/** What select picks of the state; the component is drawn again when that is another (by Object.is). */
export function useSelect<T>(select: (state: State) => T): T {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
