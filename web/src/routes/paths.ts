import { usePathname } from "wouter/use-browser-location";
import { withQuery } from "../api/client";

/** The page of a run. */
export function runPath(run: string): string {
  return `/runs/${encodeURIComponent(run)}`;
}

/** The page of an attempt. */
export function attemptPath(run: string, attempt: string): string {
  return `${runPath(run)}/${encodeURIComponent(attempt)}`;
}

/** An attempt as the page of two names it: its run and itself, each encoded, with a slash between. */
export interface AttemptName {
  run: string;
  attempt: string;
}

export function comparePath(a: AttemptName | null, b: AttemptName | null): string {
  return withQuery("/compare", { a: a && written(a), b: b && written(b) });
}

function written({ run, attempt }: AttemptName): string {
  return `${encodeURIComponent(run)}/${encodeURIComponent(attempt)}`;
}

/** Reads what comparePath has written; null: it names no attempt. */
export function readName(text: string | null): AttemptName | null {
  const [run = "", attempt = "", ...rest] = (text ?? "").split("/").map(decoded);
  return run !== "" && attempt !== "" && rest.length === 0 ? { run, attempt } : null;
}

/** The page of two runs, case by case. */
export function runsComparePath(a: string, b: string): string {
  return withQuery("/compare", { runs: `${encodeURIComponent(a)},${encodeURIComponent(b)}` });
}

/** Reads what runsComparePath has written; null: it does not name two runs. */
export function readRuns(text: string | null): readonly [string, string] | null {
  const [a = "", b = "", ...rest] = (text ?? "").split(",").map(decoded);
  return a !== "" && b !== "" && rest.length === 0 ? [a, b] : null;
}

/**
 * The part of the page's path at this place, from 0, decoded. The router's own
 * parameters are decoded by half, so that a name with a percent sign in it is another.
 */
export function useSegment(place: number, fallback: string): string {
  const segment = usePathname().split("/")[place + 1];
  return segment === undefined || segment === "" ? fallback : decoded(segment);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
