import { asNumber, asRecord, asText } from "./text";

/** The attempt that goes on in a session. */
export interface Attempt {
  caseId: string;
  task: string;
  /** By name as the API has them, 0 is none. */
  limits: Readonly<Record<string, unknown>>;
  /** When the agent was given the task, in milliseconds as of Date.now(); null: not yet. */
  started: number | null;
}

/** What the API says of a session's attempt; null: none goes on. */
export function attemptOf(answer: unknown): Attempt | null {
  const { attempt } = asRecord(answer);
  if (typeof attempt !== "object" || attempt === null) return null;
  const fields = asRecord(attempt);
  return {
    caseId: asText(fields.case_id),
    task: asText(fields.task),
    limits: asRecord(fields.limits),
    started: asNumber(Date.parse(asText(fields.started))),
  };
}

/** A limit of the attempt that is more than none; null: there is none. */
export function limitOf(attempt: Attempt, name: string): number | null {
  const limit = asNumber(attempt.limits[name]);
  return limit !== null && limit > 0 ? limit : null;
}
