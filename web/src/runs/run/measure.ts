import { formatCost, formatCount, formatDuration, outOfRangeText } from "../../format/format";
import type { Attempt } from "../data/attempt";

/** A numeric property of an attempt that the chart can show, such as its duration. */
export interface Measure {
  id: string;
  label: string;
  value: (attempt: Attempt) => number | null;
  format: (value: number | null) => string;
}

export const measures: readonly Measure[] = [
  { id: "duration", label: "Duration", value: (a) => a.durationMs, format: formatDuration },
  { id: "cost", label: "Cost", value: (a) => a.costUsd, format: formatCost },
  { id: "tokens", label: "Tokens", value: (a) => a.tokens, format: formatCount },
  { id: "turns", label: "Turns", value: (a) => a.turns, format: formatCount },
];

/**
 * Returns an attempt's value of a measure for the chart; null if there is none or it is impossible,
 * such as a negative duration.
 */
function chartValue(measure: Measure, attempt: Attempt): number | null {
  const value = measure.value(attempt);
  return measure.format(value) === outOfRangeText ? null : value;
}

/** Returns the measures for which at least one attempt has a value above 0. */
export function measuresWithValues(attempts: readonly Attempt[]): readonly Measure[] {
  return measures.filter((measure) => attempts.some((attempt) => (chartValue(measure, attempt) ?? 0) > 0));
}

/** An attempt and its value in the chart. */
export interface ChartPoint {
  attempt: Attempt;
  value: number;
}

/** Returns the attempts that have a value for the chart, with it, ordered by start time. */
export function chartPointsOf(attempts: readonly Attempt[], measure: Measure): readonly ChartPoint[] {
  return attempts
    .map((attempt) => ({ attempt, value: chartValue(measure, attempt) }))
    .filter((point): point is ChartPoint => point.value !== null)
    .sort((a, b) => (a.attempt.started ?? 0) - (b.attempt.started ?? 0) || a.attempt.n - b.attempt.n);
}

/** Returns a description of the attempt chart for screen readers. */
export function chartDescription(points: readonly ChartPoint[], measure: Measure): string {
  const values = points.map((point) => point.value).sort((a, b) => a - b);
  const [least, most] = [values[0], values.at(-1)];
  const median = values[Math.floor(values.length / 2)];
  if (least === undefined || most === undefined || median === undefined) return `${measure.label}: no values`;
  const words = measure.format;
  return `${measure.label} of ${values.length} attempts: from ${words(least)} to ${words(most)}, median ${words(median)}`;
}
