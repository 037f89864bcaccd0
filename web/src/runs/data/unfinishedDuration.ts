import { parseTimeMs } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";

/**
 * Returns how many milliseconds an unfinished attempt has run: from its start to now while it is
 * running, else to its last change. null if the times are unknown.
 */
export function unfinishedDurationMs(line: AttemptLine | null, now: number): number | null {
  const started = parseTimeMs(line?.started);
  if (started === null) return null;
  const until = line?.state === "running" ? now : parseTimeMs(line?.changed);
  return until === null ? null : Math.max(0, until - started);
}
