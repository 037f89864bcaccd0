import { createContext, useContext } from "react";

/** Leads from other parts of the page to a cell of the notebook. */
export interface NotebookNavigation {
  /** Selects the cell, scrolls to it and lets it flash. A notebook that is drawn later still follows the last jump. */
  jumpTo(cellId: string): void;
  /** Opens the cell's text, as of one that was just made, and scrolls to it. */
  editAt(cellId: string): void;
  /** Calls f at each jump, until what it returns is called. Only the notebook itself listens. */
  onJump(f: Jump): () => void;
}

/** editing: the cell's text is to be opened. */
type Jump = (cellId: string, editing: boolean) => void;

export function createNavigation(): NotebookNavigation {
  const listeners = new Set<Jump>();
  let missed: Parameters<Jump> | null = null;
  const go: Jump = (...jump) => {
    if (listeners.size === 0) missed = jump;
    for (const f of [...listeners]) f(...jump);
  };
  return {
    jumpTo: (cellId) => go(cellId, false),
    editAt: (cellId) => go(cellId, true),
    onJump(f) {
      listeners.add(f);
      if (missed !== null) f(...missed);
      missed = null;
      return () => listeners.delete(f);
    },
  };
}

// A page with one notebook needs no provider.
const NavigationContext = createContext<NotebookNavigation>(createNavigation());

/** Where a page shows more than one notebook, each and its links need a navigation of their own. */
export const NavigationProvider = NavigationContext.Provider;

export function useNotebookNavigation(): NotebookNavigation {
  return useContext(NavigationContext);
}
