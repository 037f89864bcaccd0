import { useSyncExternalStore } from "react";

/** Reports whether a media query matches, and re-renders when that changes. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (f) => {
      const list = matchMedia(query);
      list.addEventListener("change", f);
      return () => list.removeEventListener("change", f);
    },
    () => matchMedia(query).matches,
  );
}

/** Windows in which the side panel covers the notebook. */
export const narrowWindowQuery = "(max-width: 799px)";
