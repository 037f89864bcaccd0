import { useCallback, useState } from "react";

/** Prefix of the keys in the browser's local storage. */
const keyPrefix = "assay.console.";

/**
 * State that is kept in the local storage. `first` is used if nothing valid is stored. Where
 * storage is forbidden, the state is kept in memory.
 */
export function useStored<T>(name: string, first: T, isValid: (value: unknown) => value is T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => readStoredState(name, first, isValid));
  const store = useCallback(
    (next: T) => {
      setValue(next);
      try {
        localStorage.setItem(keyPrefix + name, JSON.stringify(next));
      } catch {
        // Storage is full or forbidden: the page does without.
      }
    },
    [name],
  );
  return [value, store];
}

function readStoredState<T>(name: string, first: T, isValid: (value: unknown) => value is T): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyPrefix + name) ?? "null");
    return isValid(value) ? value : first;
  } catch {
    return first;
  }
}

export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";

/** Reports whether a value is a size in pixels. */
export const isPixelSize = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
