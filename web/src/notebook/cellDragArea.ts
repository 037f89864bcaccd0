import type { Virtualizer } from "@tanstack/react-virtual";
import { createContext, useContext } from "react";

/** The virtualizer that decides which cells of the list are drawn. */
export type CellVirtualizer = Virtualizer<HTMLDivElement, Element>;

/** The functions of the cell list that dragging uses. */
export interface CellDragArea {
  /** The scrolling element; null: not mounted. */
  scroller: HTMLElement | null;
  /** Returns the index at which a cell dropped at this height of the window would be inserted. */
  insertIndexAt(clientY: number): number;
}

const CellDragAreaContext = createContext<CellDragArea>({ scroller: null, insertIndexAt: () => 0 });

export const CellDragAreaProvider = CellDragAreaContext.Provider;

export function useCellDragArea(): CellDragArea {
  return useContext(CellDragAreaContext);
}
