/**
 * The result of an attempt. infrastructure: it ended for a reason that says nothing about the
 * agent. interrupted: it has not ended and its run is not running.
 */
export type Verdict = "passed" | "failed" | "ungraded" | "infrastructure" | "skipped" | "running" | "interrupted";

/** All verdicts in display order. */
export const verdicts: readonly Verdict[] = [
  "passed",
  "failed",
  "ungraded",
  "infrastructure",
  "skipped",
  "running",
  "interrupted",
];

/** Reports whether the attempt has ended. */
export function hasEnded(verdict: Verdict): boolean {
  return verdict !== "skipped" && !isUnfinished(verdict);
}

/** Reports whether the attempt is unfinished: it has no line in attempts.jsonl. */
export function isUnfinished(verdict: Verdict): boolean {
  return verdict === "running" || verdict === "interrupted";
}

const infrastructureOutcomes = new Set([
  "agent_error",
  "agent_exit",
  "console_lost",
  "harness_error",
  "setup_error",
  "cancelled",
]);

/** Returns the verdict of an attempt that has ended. passed null: nothing was graded. */
export function verdictOf(outcome: string, passed: boolean | null): Verdict {
  if (infrastructureOutcomes.has(outcome) || (outcome === "kernel_exit" && passed === null)) return "infrastructure";
  if (passed === null) return "ungraded";
  return passed ? "passed" : "failed";
}

/** Returns an outcome's name without underscores. */
export function outcomeText(outcome: string): string {
  return outcome.replaceAll("_", " ");
}
