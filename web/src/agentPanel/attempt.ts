import { fieldsOf, numberOf, textOrJSON } from "../json/read";

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
  const { attempt } = fieldsOf(answer);
  if (typeof attempt !== "object" || attempt === null) return null;
  const fields = fieldsOf(attempt);
  return {
    caseId: textOrJSON(fields.case_id),
    task: textOrJSON(fields.task),
    limits: fieldsOf(fields.limits),
    started: numberOf(Date.parse(textOrJSON(fields.started))),
  };
}

/** A limit of the attempt that is more than none; null: there is none. */
export function limitOf(attempt: Attempt, name: string): number | null {
  const limit = numberOf(attempt.limits[name]);
  return limit !== null && limit > 0 ? limit : null;
}
