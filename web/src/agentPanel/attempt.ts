import { parseTimeMs } from "../json/values";
import type { RunLimits, SessionDetail } from "../protocol/session.gen";

/** The attempt in progress in a session, with its case and limits. */
export interface CurrentAttempt {
  caseId: string;
  task: string;
  /** The case's files, as paths in the working folder. */
  files: readonly string[];
  /** 0 means no limit. */
  limits: RunLimits;
  /** When the agent was given the task, in milliseconds as of Date.now(); null: not yet. */
  started: number | null;
}

/** Returns the attempt in progress in a session; null if there is none. */
export function currentAttemptOf({ attempt }: SessionDetail): CurrentAttempt | null {
  if (attempt === null) return null;
  const { case_id: caseId, task, files = [], limits, started } = attempt;
  return { caseId, task, files, limits, started: parseTimeMs(started) };
}

/** Returns a limit of an attempt; null if it is not limited. */
export function limitOfAttempt(attempt: CurrentAttempt, name: keyof RunLimits): number | null {
  const limit = attempt.limits[name] ?? 0;
  return limit > 0 ? limit : null;
}
