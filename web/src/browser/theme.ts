import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const storageKey = "assay.theme";
/** The theme of this page, used where storage is forbidden. */
let unstoredTheme: Theme = "system";
const listeners = new Set<() => void>();

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return unstoredTheme;
  }
}

function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Applies the stored theme, also when another tab changes it. Call once. */
export function initTheme(): void {
  applyTheme(readTheme());
  window.addEventListener("storage", (event) => {
    if (event.key === storageKey) setTheme(readTheme());
  });
}

export function setTheme(theme: Theme): void {
  unstoredTheme = theme;
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // Storage is forbidden: the theme lasts as long as the page.
  }
  applyTheme(theme);
  for (const f of listeners) f();
}

export function useTheme(): Theme {
  return useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, readTheme);
}
