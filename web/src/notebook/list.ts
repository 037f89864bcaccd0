import type { Virtualizer } from "@tanstack/react-virtual";
import { createContext, useContext } from "react";

/** The list of cells, of which only a window is drawn. */
export type List = Virtualizer<HTMLDivElement, Element>;

/** What others may ask of the list of cells. */
export interface ListHandle {
  /** The element that scrolls; null: it is not drawn. */
  scroller: HTMLElement | null;
  /** The place at which a cell would be put that is let fall at that height of the window. */
  placeAt(clientY: number): number;
}

const ListContext = createContext<ListHandle>({ scroller: null, placeAt: () => 0 });

export const ListProvider = ListContext.Provider;

export function useList(): ListHandle {
  return useContext(ListContext);
}
