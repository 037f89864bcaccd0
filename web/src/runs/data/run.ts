import { type Fields, fieldsOf, listOf, numberOf, textOf, textsOf, timeOf } from "./json";
import type { Counts } from "./tally";

/** A run as the list and its own page know it. */
export interface Run {
  name: string;
  /** Milliseconds since 1970. */
  started: number | null;
  config: Fields;
  host: Fields;
  counts: Counts;
  /** It has written its summary. */
  finished: boolean;
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
      running: running.length,
    },
    finished: summary.finished === true,
    running,
    problem: textOf(run.problem),
  };
}

/** Attempts that have a verdict, or should have. */
export function gradedOf(counts: Counts): number {
  return counts.passed + counts.failed + counts.infrastructure;
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
