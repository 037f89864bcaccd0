import { useSyncExternalStore } from "react";

/** Whether the window is as a media query wants it. */
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

/** Below this the panel lies over the notebook. */
export const narrow = "(max-width: 799px)";
