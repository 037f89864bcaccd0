import { readTab, writeTab } from "../browser/tabStorage";

/** Where the address of the console that this tab showed last is kept. */
const name = "assay.console.address";

/** Keeps the address of the console: the session and the role that the page's own names. */
export function keepConsoleAddress({ pathname, search }: Pick<Location, "pathname" | "search">): void {
  writeTab(name, pathname + search); // where nothing can be kept the way back leads to the default session
}

/** The way to the console that this tab showed last, "/" when there was none. */
export function consoleAddress(): string {
  const kept = readTab(name) ?? "/";
  return /^\/(?:\?|$)/.test(kept) ? kept : "/";
}
