import { timeOf } from "../json/values";
import type { RunLimits, SessionDetail } from "../protocol/session.gen";

/** The attempt that is going on in a session. */
export interface Attempt {
  caseId: string;
  task: string;
  /** 0 means no limit. */
  limits: RunLimits;
  /** When the agent was given the task, in milliseconds as of Date.now(); null: not yet. */
  started: number | null;
}

/** Returns the attempt of a session; null: none is going on. */
export function attemptOf({ attempt }: SessionDetail): Attempt | null {
  if (attempt === null) return null;
  const { case_id: caseId, task, limits, started } = attempt;
  return { caseId, task, limits, started: timeOf(started) };
}

/** Returns a limit of the attempt; null: there is none. */
export function limitOf(attempt: Attempt, name: keyof RunLimits): number | null {
  const limit = attempt.limits[name] ?? 0;
  return limit > 0 ? limit : null;
}
