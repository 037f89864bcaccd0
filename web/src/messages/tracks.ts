import type { FlowEntry, FlowRequest } from "./entry";
import { faultOf, isWaiting, type Tone } from "./oddity";

/** From the first entry of a request to its last, in the margin. */
export interface Span {
  /** The first entry, which names the request. */
  first: number;
  /** Infinity: it has no answer yet. */
  last: number;
  /** Which of the lines in the margin, from 0. */
  track: number;
  tone: Tone;
}

/** Lines that stand side by side; a request beyond them has none. */
export const mostTracks = 4;

/** What a row shows on one of the lines. */
export interface Stroke {
  track: number;
  /** The request's first entry. */
  request: number;
  part: "start" | "middle" | "end" | "pass";
  /** How the request has come out. */
  tone: Tone;
  /** It is a request of the entry that is selected. */
  lit: boolean;
}

/** Gives each request that has more than one entry a line of its own as long as it lasts. */
export function spansOf(requests: readonly FlowRequest[], complete: boolean): readonly Span[] {
  const spans: Span[] = [];
  const free: number[] = [];
  for (const request of requests.toSorted((a, b) => a.first - b.first)) {
    const waits = isWaiting(request, complete);
    const last = waits ? Number.POSITIVE_INFINITY : Math.max(request.first, ...request.seqs);
    if (last === request.first) continue;
    let track = 0;
    while (track < mostTracks && (free[track] ?? 0) >= request.first) track++;
    if (track === mostTracks) continue;
    free[track] = last;
    const tone = waits ? "warn" : (faultOf(request, complete)?.tone ?? "plain");
    spans.push({ first: request.first, last, track, tone });
  }
  return spans;
}

/** Those spans that reach into the entries from one seq to another. */
export function spansWithin(spans: readonly Span[], from: number, to: number): readonly Span[] {
  return spans.filter(({ first, last }) => first <= to && last >= from);
}

/** The lines beside an entry. lit: first entries of the requests that are selected. */
export function strokesOf(
  spans: readonly Span[],
  { seq, requests }: FlowEntry,
  lit: readonly number[],
): readonly Stroke[] {
  return spansWithin(spans, seq, seq).map(({ first, last, track, tone }) => {
    const part = seq === first ? "start" : seq === last ? "end" : requests.includes(first) ? "middle" : "pass";
    return { track, request: first, part, tone, lit: lit.includes(first) };
  });
}

/** Whether two rows have the same lines. */
export function sameStrokes(a: readonly Stroke[], b: readonly Stroke[]): boolean {
  return a.length === b.length && a.every((one, i) => JSON.stringify(one) === JSON.stringify(b[i]));
}
