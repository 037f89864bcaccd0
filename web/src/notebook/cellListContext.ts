import type { Virtualizer } from "@tanstack/react-virtual";
import { createContext, useContext } from "react";

/** The virtualizer that decides which cells of the list are drawn. */
export type CellVirtualizer = Virtualizer<HTMLDivElement, Element>;

/** The functions of the cell list that dragging uses. */
export interface CellListHandle {
  /** The scrolling element; null: not mounted. */
  scroller: HTMLElement | null;
  /** Returns the index at which a cell dropped at this height of the window would be inserted. */
  insertIndexAt(clientY: number): number;
}

const CellListContext = createContext<CellListHandle>({ scroller: null, insertIndexAt: () => 0 });

export const CellListProvider = CellListContext.Provider;

export function useCellList(): CellListHandle {
  return useContext(CellListContext);
}
