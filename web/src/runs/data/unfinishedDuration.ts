import { timeOf } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";

/**
 * Returns the milliseconds since an unfinished attempt started, up to now if it is running, else up
 * to its last change; null: not known.
 */
export function unfinishedDurationMs(line: AttemptLine | null, now: number): number | null {
  const started = timeOf(line?.started);
  if (started === null) return null;
  const until = line?.state === "running" ? now : timeOf(line?.changed);
  return until === null ? null : Math.max(0, until - started);
}
