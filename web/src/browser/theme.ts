import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const key = "assay.theme";
/** The theme of this page, where nothing can be stored. */
let chosen: Theme = "system";
const listeners = new Set<() => void>();

function read(): Theme {
  try {
    const stored = localStorage.getItem(key);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return chosen;
  }
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Draws the page in the theme that was chosen last, in any tab. Called once. */
export function followTheme(): void {
  show(read());
  window.addEventListener("storage", (event) => {
    if (event.key === key) setTheme(read());
  });
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Storage is forbidden: the theme lasts as long as the page.
  }
  show(theme);
  for (const f of listeners) f();
}

export function useTheme(): Theme {
  return useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, read);
}
