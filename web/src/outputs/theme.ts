import { useSyncExternalStore } from "react";
import { useTheme } from "../app/theme";

const query = "(prefers-color-scheme: dark)";

function subscribe(f: () => void): () => void {
  const media = window.matchMedia(query);
  media.addEventListener("change", f);
  return () => media.removeEventListener("change", f);
}

/** What the page is drawn in: the theme that was chosen, or the system's. */
export function useShade(): "light" | "dark" {
  const chosen = useTheme();
  const system = useSyncExternalStore(subscribe, () => window.matchMedia(query).matches);
  if (chosen !== "system") return chosen;
  return system ? "dark" : "light";
}
