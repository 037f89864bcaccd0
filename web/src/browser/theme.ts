import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const themeStorageKey = "assay.theme";
/** The theme of this page, used where storage is forbidden. */
let themeWithoutStorage: Theme = "system";
const themeListeners = new Set<() => void>();

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(themeStorageKey);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return themeWithoutStorage;
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
    if (event.key === themeStorageKey) setTheme(readTheme());
  });
}

export function setTheme(theme: Theme): void {
  themeWithoutStorage = theme;
  try {
    localStorage.setItem(themeStorageKey, theme);
  } catch {
    // Storage is forbidden: the theme lasts as long as the page.
  }
  applyTheme(theme);
  for (const f of themeListeners) f();
}

export function useTheme(): Theme {
  return useSyncExternalStore((f) => {
    themeListeners.add(f);
    return () => themeListeners.delete(f);
  }, readTheme);
}
