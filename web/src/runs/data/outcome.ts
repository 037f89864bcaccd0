/**
 * State of an attempt that has not ended. running: a program is running it. interrupted: its run
 * was interrupted, so that it will not end.
 */
export type UnfinishedState = "running" | "interrupted";

/**
 * The result of an attempt or a skipped case. infrastructure: the attempt ended for a reason that
 * says nothing about the agent. grading_error: a grader did not work. ungraded: it ended and nothing
 * was to be graded.
 */
export type Verdict =
  | "passed"
  | "failed"
  | "ungraded"
  | "grading_error"
  | "infrastructure"
  | "skipped"
  | UnfinishedState;

/** All verdicts in display order. */
export const verdicts: readonly Verdict[] = [
  "passed",
  "failed",
  "ungraded",
  "grading_error",
  "infrastructure",
  "skipped",
  "running",
  "interrupted",
];

/**
 * Reports whether an attempt with this verdict has ended. False for skipped cases and unfinished
 * attempts.
 */
export function hasEnded(verdict: Verdict): boolean {
  return verdict !== "skipped" && !isUnfinished(verdict);
}

/**
 * Reports whether a state or verdict is that of an unfinished attempt, which has no line in
 * attempts.jsonl.
 */
export function isUnfinished(state: string | undefined): state is UnfinishedState {
  return state === "running" || state === "interrupted";
}

/**
 * Outcomes that say nothing about the agent's ability. kernel_exit is one of them only if nothing
 * was graded.
 */
const infrastructureOutcomes = new Set([
  "agent_error",
  "agent_exit",
  "console_lost",
  "harness_error",
  "setup_error",
  "cancelled",
]);

/**
 * Returns the verdict of an attempt that has ended, from its outcome, whether it passed and whether a
 * grader did not work. passed null means that nothing was graded.
 */
export function verdictOf(outcome: string, passed: boolean | null, hasGradingError: boolean): Verdict {
  if (hasGradingError) return "grading_error";
  if (infrastructureOutcomes.has(outcome) || (outcome === "kernel_exit" && passed === null)) return "infrastructure";
  if (passed === null) return "ungraded";
  return passed ? "passed" : "failed";
}

/** Returns an outcome's name without underscores. */
export function outcomeText(outcome: string): string {
  return outcome.replaceAll("_", " ");
}
