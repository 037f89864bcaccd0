import { createContext, useContext } from "react";
import type { CellType } from "../protocol/messages";

/** Leads from other parts of the page to the notebook, and what they want there. */
export interface NotebookNavigation {
  /** Selects the cell, scrolls to it and lets it flash. */
  jumpTo(cellId: string): void;
  /** Makes a cell at the end and opens its text: what is typed from now on goes there. */
  addCell(type: CellType): void;
  /** Calls f at each wish, until what it returns is called. Only the notebook itself listens. */
  onWish(f: (wish: Wish) => void): () => void;
}

/** What a part of the page wants of the notebook. */
export type Wish = { jump: string } | { add: CellType };

/** A notebook that is drawn later still does what was wanted last. */
export function createNavigation(): NotebookNavigation {
  const listeners = new Set<(wish: Wish) => void>();
  let missed: Wish | null = null;
  const tell = (wish: Wish) => {
    if (listeners.size === 0) missed = wish;
    for (const f of [...listeners]) f(wish);
  };
  return {
    jumpTo: (cellId) => tell({ jump: cellId }),
    addCell: (type) => tell({ add: type }),
    onWish(f) {
      listeners.add(f);
      if (missed !== null) f(missed);
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
