import type { FlowEntry, FlowRequest } from "./entry";
import { isRequestPending, type OddityTone, oddityOfRequest } from "./oddity";

/** The line that connects the entries of a request in the margin, from its first entry to its last. */
export interface RequestSpan {
  /** Number of the first entry, which identifies the request. */
  first: number;
  /** Infinity: not answered yet. */
  last: number;
  /** Which of the parallel lines, from 0. */
  track: number;
  tone: OddityTone;
}

/** Maximum number of lines side by side. A request that finds no free place has no line. */
export const maxLineTracks = 4;

/** The part of a request's line beside one row. */
export interface RequestLinePart {
  track: number;
  /** Number of the request's first entry. */
  request: number;
  part: "start" | "middle" | "end" | "pass";
  /** The result of the request. */
  tone: OddityTone;
  /** It is a request of the selected entry. */
  isHighlighted: boolean;
}

/**
 * Assigns each request with more than one entry to a line position that is free for the duration of
 * the request.
 */
export function requestSpansOf(requests: readonly FlowRequest[], complete: boolean): readonly RequestSpan[] {
  const spans: RequestSpan[] = [];
  const free: number[] = [];
  for (const request of requests.toSorted((a, b) => a.first - b.first)) {
    const waits = isRequestPending(request, complete);
    const last = waits ? Number.POSITIVE_INFINITY : Math.max(request.first, ...request.seqs);
    if (last === request.first) continue;
    let track = 0;
    while (track < maxLineTracks && (free[track] ?? 0) >= request.first) track++;
    if (track === maxLineTracks) continue;
    free[track] = last;
    const tone = waits ? "warn" : (oddityOfRequest(request, complete)?.tone ?? "plain");
    spans.push({ first: request.first, last, track, tone });
  }
  return spans;
}

/** Returns the spans that overlap a range of entry numbers. */
export function spansOverlapping(spans: readonly RequestSpan[], from: number, to: number): readonly RequestSpan[] {
  return spans.filter(({ first, last }) => first <= to && last >= from);
}

/**
 * Returns the parts of request lines beside an entry. highlighted holds the first entries of the
 * selected requests.
 */
export function linePartsOf(
  spans: readonly RequestSpan[],
  { seq, requests }: FlowEntry,
  highlighted: readonly number[],
): readonly RequestLinePart[] {
  return spansOverlapping(spans, seq, seq).map(({ first, last, track, tone }) => {
    const part = seq === first ? "start" : seq === last ? "end" : requests.includes(first) ? "middle" : "pass";
    return { track, request: first, part, tone, isHighlighted: highlighted.includes(first) };
  });
}

/** Reports whether two rows have the same parts of request lines. */
export function isSameLineParts(a: readonly RequestLinePart[], b: readonly RequestLinePart[]): boolean {
  return a.length === b.length && a.every((one, i) => JSON.stringify(one) === JSON.stringify(b[i]));
}
