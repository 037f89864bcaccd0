import { usePathname } from "wouter/use-browser-location";
import { withQuery } from "../api/client";
import { readTabStorage, writeTabStorage } from "../browser/tabStorage";

/** Returns the path of a run's page. */
export function runPath(run: string): string {
  return `/runs/${encodeURIComponent(run)}`;
}

/** Returns the path of an attempt's page. */
export function attemptPath(run: string, attempt: string): string {
  return `${runPath(run)}/${encodeURIComponent(attempt)}`;
}

/** An attempt and its run. The comparison page names an attempt as "run/attempt", both encoded. */
export interface AttemptName {
  run: string;
  attempt: string;
}

export function comparePath(a: AttemptName | null, b: AttemptName | null): string {
  return withQuery("/compare", { a: a && encodeAttemptName(a), b: b && encodeAttemptName(b) });
}

function encodeAttemptName({ run, attempt }: AttemptName): string {
  return `${encodeURIComponent(run)}/${encodeURIComponent(attempt)}`;
}

/** Parses an attempt that comparePath has written; null if the text names no attempt. */
export function parseAttemptName(text: string | null): AttemptName | null {
  const [run = "", attempt = "", ...rest] = (text ?? "").split("/").map(decodePathSegment);
  return run !== "" && attempt !== "" && rest.length === 0 ? { run, attempt } : null;
}

/** Returns the path of the page that compares two runs. */
export function runsComparePath(a: string, b: string): string {
  return withQuery("/compare", { runs: `${encodeURIComponent(a)},${encodeURIComponent(b)}` });
}

/** Parses two runs that runsComparePath has written; null if the text does not name two. */
export function parseRunNames(text: string | null): readonly [string, string] | null {
  const [a = "", b = "", ...rest] = (text ?? "").split(",").map(decodePathSegment);
  return a !== "" && b !== "" && rest.length === 0 ? [a, b] : null;
}

/**
 * Returns segment n of the page's path, counted from 0 and decoded. The router's own parameters are
 * decoded only partially, which changes names that contain a percent sign.
 */
export function usePathSegment(index: number, fallback: string): string {
  const segment = usePathname().split("/")[index + 1];
  return segment === undefined || segment === "" ? fallback : decodePathSegment(segment);
}

function decodePathSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Session storage key of the address of the console that this tab has shown last. */
const storageKey = "assay.console.address";

/** Stores the address of the console: its session and role. */
export function storeConsoleAddress({ pathname, search }: Pick<Location, "pathname" | "search">): void {
  writeTabStorage(storageKey, pathname + search); // if storage is forbidden, consoleAddress returns that of the default session
}

/** Returns the address of the console that this tab has shown last; "/" if there was none. */
export function consoleAddress(): string {
  const stored = readTabStorage(storageKey) ?? "/";
  return /^\/(?:\?|$)/.test(stored) ? stored : "/";
}
