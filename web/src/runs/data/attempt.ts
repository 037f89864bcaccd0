import { formatCost } from "../../format/format";
import { parseTimeMs } from "../../json/values";
import type { AttemptLine, RunUsage } from "../../protocol/api.gen";
import { isUnfinished, type UnfinishedState, type Verdict, verdictOf } from "./outcome";

/** A row of a run's attempt table: an attempt, finished or not, or a skipped case. */
export interface Attempt {
  /** Number of its line in attempts.jsonl; 0: none. */
  n: number;
  /** Name of its folder, used in paths; "" for a skipped case. */
  name: string;
  caseId: string;
  epoch: number | null;
  try: number | null;
  verdict: Verdict;
  /** Why it ended or was skipped. */
  outcome: string;
  detail: string;
  passed: boolean | null;
  score: number | null;
  /** Milliseconds since 1970. */
  started: number | null;
  durationMs: number | null;
  turns: number | null;
  actions: number | null;
  /** Input and output tokens. */
  tokens: number | null;
  costUsd: number | null;
  /** Number of signs that the agent tried to manipulate the harness. */
  tamper: number;
  tags: readonly string[];
}

/** Converts a line of attempts.jsonl to a row; null if the line is not an attempt or a skipped case. */
export function attemptOf(line: AttemptLine): Attempt | null {
  if (line.type === "skipped") return skippedCase(line);
  if (line.type !== "attempt") return null;
  if (isUnfinished(line.state)) return unfinishedAttempt(line.name ?? "", line.state);
  const { usage = {}, outcome = "", passed = null } = line;
  return {
    n: line.n ?? 0,
    name: line.name ?? "",
    caseId: line.case_id ?? "",
    epoch: line.epoch ?? null,
    try: line.try ?? null,
    verdict: verdictOf(outcome, passed, line.grading !== undefined),
    outcome,
    detail: line.grading
      ? `grading failed (${line.grading.error_kind ?? ""}): ${line.grading.text ?? ""}`
      : (line.outcome_detail ?? ""),
    passed,
    score: line.score ?? null,
    started: parseTimeMs(line.started),
    durationMs: line.duration_ms ?? null,
    turns: usage.model_calls ?? null,
    actions: usage.actions ?? null,
    tokens: tokenSumOf(usage),
    costUsd: usage.cost_usd ?? null,
    tamper: line.tamper ?? 0,
    tags: line.tags ?? [],
  };
}

/** Returns the sum of input and output tokens; null if neither is known. */
export function tokenSumOf({ input_tokens: input, output_tokens: output }: RunUsage): number | null {
  return input === undefined && output === undefined ? null : (input ?? 0) + (output ?? 0);
}

/** Formats the cost of an attempt in dollars; that of tokens without a known price is unknown. */
export function attemptCostText(usage: RunUsage): string {
  const usd = usage.cost_usd ?? null;
  return usd === null && (tokenSumOf(usage) ?? 0) > 0 ? "unknown" : formatCost(usd);
}

const emptyAttempt: Attempt = {
  n: 0,
  name: "",
  caseId: "",
  epoch: null,
  try: null,
  verdict: "skipped",
  outcome: "",
  detail: "",
  passed: null,
  score: null,
  started: null,
  durationMs: null,
  turns: null,
  actions: null,
  tokens: null,
  costUsd: null,
  tamper: 0,
  tags: [],
};

function skippedCase({ n = 0, case_id: caseId = "", reason: detail = "" }: AttemptLine): Attempt {
  return { ...emptyAttempt, n, caseId, outcome: "skipped", detail };
}

const attemptFolderNamePattern = /^\d+-(.*)-e(\d+)-t(\d+)$/s;

/** Returns an unfinished attempt with the case, epoch and try that the name of its folder contains. */
export function unfinishedAttempt(name: string, verdict: UnfinishedState): Attempt {
  const [, slug = name, epoch, attempt] = attemptFolderNamePattern.exec(name) ?? [];
  return {
    ...emptyAttempt,
    name,
    caseId: slug,
    epoch: epoch === undefined ? null : Number(epoch),
    try: attempt === undefined ? null : Number(attempt),
    verdict,
    outcome: verdict,
  };
}

/** Returns the attempts and skipped cases of some lines, in order. */
export function attemptsOf(lines: readonly AttemptLine[]): Attempt[] {
  return lines.map(attemptOf).filter((attempt) => attempt !== null);
}
