/** Where the address of the console that this tab showed last is kept. */
const name = "assay.console.address";

/** Keeps the address of the console: the session and the role that the page's own names. */
export function keepConsoleAddress({ pathname, search }: Pick<Location, "pathname" | "search">): void {
  try {
    sessionStorage.setItem(name, pathname + search);
  } catch {
    // Storage is forbidden: the way back leads to the default session.
  }
}

/** The way to the console that this tab showed last, "/" when there was none. */
export function consoleAddress(): string {
  try {
    const kept = sessionStorage.getItem(name) ?? "/";
    return /^\/(?:\?|$)/.test(kept) ? kept : "/";
  } catch {
    return "/";
  }
}
