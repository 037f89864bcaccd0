import { type ComponentType, createContext, useContext } from "react";

/** Draws the text of one style on one line. */
export type Words = ComponentType<{ text: string }>;

function PlainWords({ text }: { text: string }) {
  return text;
}

const WordsContext = createContext<Words>(PlainWords);

/** Says how text of terminals is drawn below; without it, as it is. */
export const WordsProvider = WordsContext.Provider;

export function useWords(): Words {
  return useContext(WordsContext);
}
