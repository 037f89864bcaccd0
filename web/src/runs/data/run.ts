import { type Fields, fieldsOf, listOf, numberOf, textOf, textsOf, timeOf } from "../../json/read";
import { type LeftOut, leftOutOf } from "./leftOut";
import type { Counts } from "./tally";

/** running: a program makes it right now. interrupted: none does, and it has not come to its end. */
export type RunState = "running" | "finished" | "interrupted";

/** A run as the list and its own page know it. */
export interface Run {
  name: string;
  /** Milliseconds since 1970. */
  started: number | null;
  config: Fields;
  host: Fields;
  counts: Counts;
  state: RunState;
  /** The strict pass rate, as far as the run has come; null: nothing is graded. */
  passRate: number | null;
  /** null: a price is not known. */
  costUsd: number | null;
  /** What it took, or how long it has been going on. */
  durationMs: number | null;
  /** Lines that cannot be read; null: none. */
  leftOut: LeftOut | null;
  /** Names of the attempts without a line. */
  running: readonly string[];
  /** Why it cannot be read; "": it can. */
  problem: string;
}

/** Reads an item of the list of runs, or the answer to a question for one run. */
export function runOf(value: unknown): Run {
  const run = fieldsOf(value);
  const summary = fieldsOf(run.summary);
  const running = textsOf(run.running);
  return {
    name: textOf(run.name),
    started: timeOf(run.started),
    config: fieldsOf(run.config),
    host: fieldsOf(run.host),
    counts: {
      passed: numberOf(summary.passed) ?? 0,
      failed: numberOf(summary.failed) ?? 0,
      ungraded: numberOf(summary.ungraded) ?? 0,
      infrastructure: numberOf(summary.infrastructure) ?? 0,
      skipped: numberOf(summary.skipped) ?? 0,
      running: 0, // that is known by name, where it is
      interrupted: 0,
    },
    state: stateOf(summary.state),
    passRate: numberOf(summary.pass_rate),
    costUsd: numberOf(summary.cost_usd),
    durationMs: numberOf(summary.duration_ms),
    leftOut: leftOutOf(summary.left_out),
    running,
    problem: textOf(run.problem),
  };
}

/** A word that is none is that of a run of which nothing more is to be expected. */
function stateOf(value: unknown): RunState {
  return value === "running" || value === "finished" ? value : "interrupted";
}

/** Attempts that have ended. */
export function endedOf(counts: Counts): number {
  return counts.passed + counts.failed + counts.infrastructure + counts.ungraded;
}

/** Who was tried: agent, model and strategy, as far as they say something. */
export function whoOf(config: Fields): string {
  const agent = textOf(config.agent) || "unknown agent";
  const builtin = agent === "builtin";
  return [agent, textOf(config.model), builtin ? textOf(config.strategy) : ""]
    .filter((part) => part !== "")
    .join(" · ");
}

/** What was tried: the paths of its cases. */
export function pathsOf(config: Fields): readonly string[] {
  return listOf(config.paths).map((path) => (typeof path === "string" ? path : String(JSON.stringify(path))));
}
