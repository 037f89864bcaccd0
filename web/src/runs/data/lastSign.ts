import { type Fields, timeOf } from "./json";

/** After so long without a word in its trace an attempt is likely to be one that nobody makes any more. */
const longMs = 10 * 60_000;

/** Whether an attempt that has no line yet has been silent for so long that its run may have been killed. */
export function isSilent(line: Fields | null, now: number): boolean {
  const changed = timeOf(line?.changed);
  return changed !== null && now - changed > longMs;
}

/** How long an attempt without a line has been going on, in milliseconds, or did until its last sign of life; null: not known. */
export function runningMs(line: Fields | null, now: number): number | null {
  const started = timeOf(line?.started);
  if (started === null) return null;
  const until = isSilent(line, now) ? (timeOf(line?.changed) ?? now) : now;
  return Math.max(0, until - started);
}
