import { useTheme } from "../browser/theme";
import { useMedia } from "../browser/useMedia";

/** What the page is drawn in: the theme that was chosen, or the system's. */
export function useShade(): "light" | "dark" {
  const chosen = useTheme();
  const system = useMedia("(prefers-color-scheme: dark)") ? "dark" : "light";
  return chosen === "system" ? system : chosen;
}
