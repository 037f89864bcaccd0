import { formatCost, formatCount, formatDuration, impossibleText } from "../../format/format";
import type { Attempt } from "../data/line";

/** What a chart can show of each attempt. */
export interface Measure {
  id: string;
  label: string;
  of: (attempt: Attempt) => number | null;
  words: (value: number | null) => string;
}

export const measures: readonly Measure[] = [
  { id: "duration", label: "Duration", of: (a) => a.durationMs, words: formatDuration },
  { id: "cost", label: "Cost", of: (a) => a.costUsd, words: formatCost },
  { id: "tokens", label: "Tokens", of: (a) => a.tokens, words: formatCount },
  { id: "turns", label: "Turns", of: (a) => a.turns, words: formatCount },
];

/** The value that a chart can show; null: there is none, or one that cannot be. */
function shown(measure: Measure, attempt: Attempt): number | null {
  const value = measure.of(attempt);
  return measure.words(value) === impossibleText ? null : value;
}

/** Those that at least one attempt has a value of other than 0. */
export function measuresOf(attempts: readonly Attempt[]): readonly Measure[] {
  return measures.filter((measure) => attempts.some((attempt) => (shown(measure, attempt) ?? 0) > 0));
}

/** A point of the chart: an attempt and the value it has. */
export interface Point {
  attempt: Attempt;
  value: number;
}

/** The attempts with a value, in the order in which they were begun. */
export function pointsOf(attempts: readonly Attempt[], measure: Measure): readonly Point[] {
  return attempts
    .map((attempt) => ({ attempt, value: shown(measure, attempt) }))
    .filter((point): point is Point => point.value !== null)
    .sort((a, b) => (a.attempt.started ?? 0) - (b.attempt.started ?? 0) || a.attempt.n - b.attempt.n);
}

/** The chart in words. */
export function chartWords(points: readonly Point[], measure: Measure): string {
  const values = points.map((point) => point.value).sort((a, b) => a - b);
  const [least, most] = [values[0], values.at(-1)];
  const median = values[Math.floor(values.length / 2)];
  if (least === undefined || most === undefined || median === undefined) return `${measure.label}: no values`;
  const words = measure.words;
  return `${measure.label} of ${values.length} attempts: from ${words(least)} to ${words(most)}, median ${words(median)}`;
}
