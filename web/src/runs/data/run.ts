import { boolean, integer, list, object, optional, read, string, unknown } from "../../json/schema";
import { parseTimeMs, textOrJSON } from "../../json/values";
import type { RunHost, RunItem } from "../../protocol/api.gen";
import type { UnfinishedState } from "./outcome";
import type { AttemptCounts } from "./tally";
import { type UnreadableLines, unreadableLinesOf } from "./unreadableLines";

/**
 * State of a run. running: a program is writing its results. interrupted: the run has not finished
 * and no program is writing it. finished: all attempts have ended.
 */
export type RunState = "finished" | UnfinishedState;

/** A run as shown in the list and on its page. */
export interface Run {
  name: string;
  /** Milliseconds since 1970. */
  started: number | null;
  config: RunConfig;
  host: RunHost;
  counts: AttemptCounts;
  state: RunState;
  /** Strict pass rate so far, from 0 to 1; null: nothing is graded. */
  passRate: number | null;
  /** Cost in US dollars; null: a price is not known. */
  costUsd: number | null;
  /** Milliseconds from start to end, or until now. */
  durationMs: number | null;
  /** Unreadable lines; null: none. */
  leftOut: UnreadableLines | null;
  /** Names of unfinished attempts. */
  running: readonly string[];
  /** Why the run cannot be read; "": it can. */
  problem: string;
}

/** The configuration in run.json. Any field may be missing. */
export interface RunConfig {
  agent: string;
  model: string;
  strategy: string;
  /** Who did the agent's work; "" for an agent. */
  person: string;
  /** false: a foreign agent that ran without a sandbox, so its score is on trust. */
  agent_confined?: boolean;
  /** "" means python. */
  kernel: string;
  /** Paths of the cases. */
  paths: readonly unknown[];
  /** Attempts per case. */
  epochs?: number;
  /** Attempts that run at the same time. */
  jobs?: number;
  /** The whole configuration as in run.json. */
  all: unknown;
}

/** Schema of the fields of run.json that the page uses. */
const configSchema = object<Omit<RunConfig, "all">>({
  agent: string,
  model: string,
  strategy: string,
  person: string,
  kernel: string,
  paths: list(unknown),
  epochs: optional(integer),
  jobs: optional(integer),
  agent_confined: optional(boolean),
});

/** Converts a run from the API's format; missing numbers become null, or 0 for counts. */
export function runOf(run: RunItem): Run {
  const { summary = {} } = run;
  return {
    name: run.name ?? "",
    started: parseTimeMs(run.started),
    config: { ...read(configSchema, run.config), all: run.config },
    host: run.host ?? {},
    counts: {
      passed: summary.passed ?? 0,
      failed: summary.failed ?? 0,
      ungraded: summary.ungraded ?? 0,
      grading_error: summary.grading_errors ?? 0,
      infrastructure: summary.infrastructure ?? 0,
      skipped: summary.skipped ?? 0,
      running: 0, // known by name only
      interrupted: 0,
    },
    state: runStateOf(summary.state),
    passRate: (summary.passed ?? 0) + (summary.failed ?? 0) > 0 ? (summary.pass_rate ?? null) : null,
    costUsd: summary.cost_usd ?? null,
    durationMs: summary.duration_ms ?? null,
    leftOut: unreadableLinesOf(summary.left_out),
    running: run.running ?? [],
    problem: run.problem ?? "",
  };
}

/** Returns the state of a run; "interrupted" for an unknown value. */
function runStateOf(value: string | undefined): RunState {
  return value === "running" || value === "finished" ? value : "interrupted";
}

/** Reports whether attempts have ended and none of them was graded: such a run has no pass rate. */
export function isNothingGraded(counts: AttemptCounts): boolean {
  return endedCount(counts) > 0 && counts.passed + counts.failed === 0;
}

/** Returns the number of attempts that have ended, with and without a verdict. */
export function endedCount(counts: AttemptCounts): number {
  return counts.passed + counts.failed + counts.infrastructure + counts.grading_error + counts.ungraded;
}

/**
 * Returns the agent, person, model and strategy of a run as one text, such as "builtin · gpt-5 · tools" or
 * "human · ada". Empty parts are left out.
 */
export function agentText({ agent, person, model, strategy }: RunConfig): string {
  const parts = [agent || "unknown agent", person, model, agent === "builtin" ? strategy : ""];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Returns the paths of a run's cases as texts. */
export function casePaths({ paths }: RunConfig): readonly string[] {
  return paths.map(textOrJSON);
}
