import { createContext, useContext } from "react";

/** A person's text of a cell that could not be stored, for somebody else has changed the cell meanwhile. */
export interface Conflict {
  /** What the cell's source is now. */
  theirs: string;
  /** The person's text; absent: what the editor has. It is needed where the page was loaded anew since. */
  mine?: string;
  /** Stores the person's text over it. */
  keepMine(): void;
  /** Gives the person's text up. */
  takeTheirs(): void;
}

/** By cell id. */
export type Conflicts = Readonly<Record<string, Conflict>>;

const ConflictsContext = createContext<Conflicts>({});

export const ConflictsProvider = ConflictsContext.Provider;

/** null: there is none. */
export function useConflict(cellId: string): Conflict | null {
  const conflicts = useContext(ConflictsContext);
  return Object.hasOwn(conflicts, cellId) ? (conflicts[cellId] ?? null) : null;
}
