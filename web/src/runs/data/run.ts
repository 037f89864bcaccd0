import { integer, list, object, optional, read, string, unknown } from "../../json/schema";
import { textOrJSON, timeOf } from "../../json/values";
import type { RunHost, RunItem } from "../../protocol/api.gen";
import { type LeftOut, leftOutOf } from "./leftOut";
import type { Counts } from "./tally";

/** running: a program makes it right now. interrupted: none does, and it has not come to its end. */
export type RunState = "running" | "finished" | "interrupted";

/** A run as the list and its own page know it. */
export interface Run {
  name: string;
  /** Milliseconds since 1970. */
  started: number | null;
  config: RunConfig;
  host: RunHost;
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

/** What a run was started with, from its run.json. All fields may be missing. */
export interface RunConfig {
  agent: string;
  model: string;
  strategy: string;
  /** "" means python. */
  kernel: string;
  /** Paths of the cases. */
  paths: readonly unknown[];
  /** Attempts per case. */
  epochs?: number;
  /** Attempts at the same time. */
  jobs?: number;
  /** All fields, as they are in run.json. */
  all: unknown;
}

const configSchema = object<Omit<RunConfig, "all">>({
  agent: string,
  model: string,
  strategy: string,
  kernel: string,
  paths: list(unknown),
  epochs: optional(integer),
  jobs: optional(integer),
});

/** Returns an item of the list of runs, or the answer about one run, as the pages show it. */
export function runOf(run: RunItem): Run {
  const { summary = {} } = run;
  return {
    name: run.name ?? "",
    started: timeOf(run.started),
    config: { ...read(configSchema, run.config), all: run.config },
    host: run.host ?? {},
    counts: {
      passed: summary.passed ?? 0,
      failed: summary.failed ?? 0,
      ungraded: summary.ungraded ?? 0,
      infrastructure: summary.infrastructure ?? 0,
      skipped: summary.skipped ?? 0,
      running: 0, // known by name, where it is
      interrupted: 0,
    },
    state: stateOf(summary.state),
    passRate: summary.pass_rate ?? null,
    costUsd: summary.cost_usd ?? null,
    durationMs: summary.duration_ms ?? null,
    leftOut: leftOutOf(summary.left_out),
    running: run.running ?? [],
    problem: run.problem ?? "",
  };
}

/** A word that is none is that of a run of which nothing more is to be expected. */
function stateOf(value: string | undefined): RunState {
  return value === "running" || value === "finished" ? value : "interrupted";
}

/** Attempts that have ended. */
export function endedOf(counts: Counts): number {
  return counts.passed + counts.failed + counts.infrastructure + counts.ungraded;
}

/** Who was tried: agent, model and strategy, as far as they say something. */
export function whoOf({ agent, model, strategy }: RunConfig): string {
  const parts = [agent || "unknown agent", model, agent === "builtin" ? strategy : ""];
  return parts.filter((part) => part !== "").join(" · ");
}

/** What was tried: the paths of its cases. */
export function pathsOf({ paths }: RunConfig): readonly string[] {
  return paths.map(textOrJSON);
}
