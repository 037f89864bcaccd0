import { useTheme } from "../browser/theme";
import { useMedia } from "../browser/useMedia";

/** Returns whether the page is light or dark: the chosen theme, or the system's if "system" is chosen. */
export function useEffectiveTheme(): "light" | "dark" {
  const chosen = useTheme();
  const system = useMedia("(prefers-color-scheme: dark)") ? "dark" : "light";
  return chosen === "system" ? system : chosen;
}
