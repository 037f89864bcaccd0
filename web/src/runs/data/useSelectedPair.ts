import { useCallback, useState } from "react";

/**
 * Holds the names of at most two selected items, in the order of selection. Returns them, a
 * function that selects or unselects one (selecting a third unselects the oldest), and a function
 * that clears the selection.
 */
export function useSelectedPair(): readonly [readonly string[], (name: string) => void, () => void] {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = useCallback((name: string) => setChosen((old) => toggleInPair(old, name)), []);
  const clear = useCallback(() => setChosen([]), []);
  return [chosen, choose, clear];
}

function toggleInPair(chosen: readonly string[], name: string): readonly string[] {
  if (chosen.includes(name)) return chosen.filter((other) => other !== name);
  return [...chosen, name].slice(-2);
}
