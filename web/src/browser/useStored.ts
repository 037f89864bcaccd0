import { useState } from "react";

/** Where what was chosen here last is kept, in this browser. */
const prefix = "assay.console.";

/** State that outlives the page. What is stored and not valid counts as first; where nothing can be stored it is kept in memory. */
export function useStored<T>(name: string, first: T, valid: (value: unknown) => value is T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => read(name, first, valid));
  const store = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(prefix + name, JSON.stringify(next));
    } catch {
      // Storage is full or forbidden: the page does without.
    }
  };
  return [value, store];
}

function read<T>(name: string, first: T, valid: (value: unknown) => value is T): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(prefix + name) ?? "null");
    return valid(value) ? value : first;
  } catch {
    return first;
  }
}

export const isFlag = (value: unknown): value is boolean => typeof value === "boolean";

/** A size in pixels. */
export const isSize = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
