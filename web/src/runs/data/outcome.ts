/**
 * What an attempt has come to. infrastructure: it ended for a reason that says nothing about the agent.
 * interrupted: it has not ended, and its run goes on no more.
 */
export type Verdict = "passed" | "failed" | "ungraded" | "infrastructure" | "skipped" | "running" | "interrupted";

/** In the order in which they are counted up. */
export const verdicts: readonly Verdict[] = [
  "passed",
  "failed",
  "ungraded",
  "infrastructure",
  "skipped",
  "running",
  "interrupted",
];

/** Whether there is an attempt that has come to its end. */
export function hasEnded(verdict: Verdict): boolean {
  return verdict !== "skipped" && !isOpen(verdict);
}

/** Whether it is an attempt that has no line. */
export function isOpen(verdict: Verdict): boolean {
  return verdict === "running" || verdict === "interrupted";
}

const infrastructure = new Set([
  "agent_error",
  "agent_exit",
  "console_lost",
  "harness_error",
  "setup_error",
  "cancelled",
]);

/** The verdict on an attempt that has ended. passed is null where nothing was graded. */
export function verdictOf(outcome: string, passed: boolean | null): Verdict {
  if (infrastructure.has(outcome) || (outcome === "kernel_exit" && passed === null)) return "infrastructure";
  if (passed === null) return "ungraded";
  return passed ? "passed" : "failed";
}

/** An outcome in words: its name without underscores. */
export function outcomeWords(outcome: string): string {
  return outcome.replaceAll("_", " ");
}
