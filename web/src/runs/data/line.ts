import { timeOf } from "../../json/values";
import type { AttemptLine, RunUsage } from "../../protocol/api.gen";
import { type Verdict, verdictOf } from "./outcome";

/** A line of a run's attempts as its table shows it, or an attempt that has none. */
export interface Attempt {
  /** Number of the line; 0: it has none. */
  n: number;
  /** Of its folder, by which paths name it; "" for a case that was skipped. */
  name: string;
  caseId: string;
  epoch: number | null;
  try: number | null;
  verdict: Verdict;
  /** Why it ended, or why it was skipped. */
  outcome: string;
  detail: string;
  passed: boolean | null;
  score: number | null;
  /** Milliseconds since 1970. */
  started: number | null;
  durationMs: number | null;
  turns: number | null;
  actions: number | null;
  /** In and out. */
  tokens: number | null;
  costUsd: number | null;
  /** Signals that somebody tried to fool the harness. */
  tamper: number;
  tags: readonly string[];
}

/** Returns what the table shows of a line; null if its type does not belong into the table. */
export function attemptOf(line: AttemptLine): Attempt | null {
  if (line.type === "skipped") return skippedOf(line);
  if (line.type !== "attempt") return null;
  if (line.state === "running" || line.state === "interrupted") return openOf(line.name ?? "", line.state);
  const { usage = {}, outcome = "", passed = null } = line;
  return {
    n: line.n ?? 0,
    name: line.name ?? "",
    caseId: line.case_id ?? "",
    epoch: line.epoch ?? null,
    try: line.try ?? null,
    verdict: verdictOf(outcome, passed),
    outcome,
    detail: line.outcome_detail ?? "",
    passed,
    score: line.score ?? null,
    started: timeOf(line.started),
    durationMs: line.duration_ms ?? null,
    turns: usage.model_calls ?? null,
    actions: usage.actions ?? null,
    tokens: tokensOf(usage),
    costUsd: usage.cost_usd ?? null,
    tamper: line.tamper ?? 0,
    tags: line.tags ?? [],
  };
}

/** Returns the tokens in and out; null: neither is known. */
export function tokensOf({ input_tokens: input, output_tokens: output }: RunUsage): number | null {
  return input === undefined && output === undefined ? null : (input ?? 0) + (output ?? 0);
}

const nothing: Attempt = {
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

function skippedOf({ n = 0, case_id: caseId = "", reason: detail = "" }: AttemptLine): Attempt {
  return { ...nothing, n, caseId, outcome: "skipped", detail };
}

const folder = /^\d+-(.*)-e(\d+)-t(\d+)$/s;

/** An attempt without a line, as far as the name of its folder tells. */
export function openOf(name: string, verdict: "running" | "interrupted"): Attempt {
  const [, slug = name, epoch, attempt] = folder.exec(name) ?? [];
  return {
    ...nothing,
    name,
    caseId: slug,
    epoch: epoch === undefined ? null : Number(epoch),
    try: attempt === undefined ? null : Number(attempt),
    verdict,
    outcome: verdict,
  };
}

/** The attempts and skipped cases among lines, in their order. */
export function attemptsOf(lines: readonly AttemptLine[]): Attempt[] {
  return lines.map(attemptOf).filter((attempt) => attempt !== null);
}
