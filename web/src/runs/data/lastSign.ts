import { timeOf } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";

/** How long an attempt without a line has been going on, in milliseconds, or did until its last sign of life; null: not known. */
export function openMs(line: AttemptLine | null, now: number): number | null {
  const started = timeOf(line?.started);
  if (started === null) return null;
  const until = line?.state === "running" ? now : timeOf(line?.changed);
  return until === null ? null : Math.max(0, until - started);
}
