import { useCallback, useState } from "react";

/** Up to two that were chosen, the older first: a third takes its place. Choosing again takes back. */
export function useSelectedPair(): readonly [readonly string[], (name: string) => void, () => void] {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = useCallback((name: string) => setChosen((old) => chosenWith(old, name)), []);
  const clear = useCallback(() => setChosen([]), []);
  return [chosen, choose, clear];
}

function chosenWith(chosen: readonly string[], name: string): readonly string[] {
  if (chosen.includes(name)) return chosen.filter((other) => other !== name);
  return [...chosen, name].slice(-2);
}
