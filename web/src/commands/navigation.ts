import { createContext, useContext } from "react";
import type { CellType } from "../protocol/messages";

/** Passes requests of other parts of the page to the notebook. */
export interface NotebookNavigation {
  /** Selects a cell, scrolls to it and highlights it briefly. */
  jumpTo(cellId: string): void;
  /** Appends a cell and opens its editor. */
  addCell(type: CellType): void;
  /**
   * Calls listener for each request until the returned function is called. Only the notebook uses
   * it.
   */
  onRequest(listener: (request: NavigationRequest) => void): () => void;
}

/** What another part of the page asks the notebook to do: go to a cell, or add one. */
export type NavigationRequest = { jump: string } | { add: CellType };

/**
 * Returns a navigation. A request without a listener waits for the next one; only the last such
 * request is kept.
 */
export function createNavigation(): NotebookNavigation {
  const listeners = new Set<(request: NavigationRequest) => void>();
  let pending: NavigationRequest | null = null;
  const send = (request: NavigationRequest) => {
    if (listeners.size === 0) pending = request;
    for (const f of [...listeners]) f(request);
  };
  return {
    jumpTo: (cellId) => send({ jump: cellId }),
    addCell: (type) => send({ add: type }),
    onRequest(f) {
      listeners.add(f);
      if (pending !== null) f(pending);
      pending = null;
      return () => listeners.delete(f);
    },
  };
}

// The default serves pages with one notebook, which need no provider.
const NavigationContext = createContext<NotebookNavigation>(createNavigation());

/** Sets the navigation of one notebook. Needed only on pages with several notebooks. */
export const NavigationProvider = NavigationContext.Provider;

/** Returns the navigation of the notebook on this part of the page. */
export function useNotebookNavigation(): NotebookNavigation {
  return useContext(NavigationContext);
}
