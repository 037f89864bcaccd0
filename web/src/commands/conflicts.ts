import { createContext, useContext } from "react";

/** The user's text of a cell that could not be stored because somebody else has changed the cell. */
export interface EditConflict {
  /** The cell's current source. */
  theirs: string;
  /** The user's text; absent: the editor shows it. Set if the page was reloaded since. */
  mine?: string;
  /** Stores the user's text over the current source. */
  keepMine(): void;
  /** Discards the user's text. */
  takeTheirs(): void;
}

/** The conflicts of a notebook by cell id. */
export type Conflicts = Readonly<Record<string, EditConflict>>;

const ConflictsContext = createContext<Conflicts>({});

/** Sets the conflicts that useEditConflict reads below it. */
export const ConflictsProvider = ConflictsContext.Provider;

/** Returns the conflict of a cell; null if it has none. */
export function useEditConflict(cellId: string): EditConflict | null {
  const conflicts = useContext(ConflictsContext);
  return Object.hasOwn(conflicts, cellId) ? (conflicts[cellId] ?? null) : null;
}
