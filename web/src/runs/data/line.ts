import { type Fields, fieldsOf, numberOf, textOf, textsOf, timeOf } from "../../json/read";
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

/** Reads a line; null: it is of no type that belongs into a table. */
export function attemptOf(value: unknown): Attempt | null {
  const line = fieldsOf(value);
  if (line.type === "skipped") return skippedOf(line);
  if (line.type !== "attempt") return null;
  if (line.state === "running" || line.state === "interrupted") return openOf(textOf(line.name), line.state);
  const usage = fieldsOf(line.usage);
  const outcome = textOf(line.outcome);
  const passed = typeof line.passed === "boolean" ? line.passed : null;
  return {
    n: numberOf(line.n) ?? 0,
    name: textOf(line.name),
    caseId: textOf(line.case_id),
    epoch: numberOf(line.epoch),
    try: numberOf(line.try),
    verdict: verdictOf(outcome, passed),
    outcome,
    detail: textOf(line.outcome_detail),
    passed,
    score: numberOf(line.score),
    started: timeOf(line.started),
    durationMs: numberOf(line.duration_ms),
    turns: numberOf(usage.model_calls),
    actions: numberOf(usage.actions),
    tokens: tokensOf(usage),
    costUsd: numberOf(usage.cost_usd),
    tamper: numberOf(line.tamper) ?? 0,
    tags: textsOf(line.tags),
  };
}

/** Tokens in and out; null: neither is known. */
export function tokensOf(usage: Fields): number | null {
  const input = numberOf(usage.input_tokens);
  const output = numberOf(usage.output_tokens);
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
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

function skippedOf(line: Fields): Attempt {
  return {
    ...nothing,
    n: numberOf(line.n) ?? 0,
    caseId: textOf(line.case_id),
    outcome: "skipped",
    detail: textOf(line.reason),
  };
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
export function attemptsOf(lines: readonly unknown[]): Attempt[] {
  return lines.map(attemptOf).filter((attempt) => attempt !== null);
}
