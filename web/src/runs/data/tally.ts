import type { AttemptLine } from "../../protocol/api.gen";
import type { Attempt } from "./attempt";
import { meanWithInterval, type RateWithInterval } from "./interval";
import { hasEnded, type Verdict, verdicts } from "./outcome";

export type AttemptCounts = Readonly<Record<Verdict, number>>;

/** Counts attempts by verdict. */
export function attemptCountsOf(attempts: readonly Attempt[]): AttemptCounts {
  const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  for (const attempt of attempts) counts[attempt.verdict]++;
  return counts;
}

/**
 * Pass rates, with infrastructure outcomes and grading errors as failures (strict) and without them.
 * Both are null if nothing was graded.
 */
export interface PassRates {
  strict: RateWithInterval | null;
  excludingInfrastructure: RateWithInterval | null;
}

/** Computes the pass rates as the command line does: the mean over a case's attempts is one observation. */
export function passRatesOf(attempts: readonly Attempt[]): PassRates {
  const cases = new Map<string, { passed: number; graded: number; lost: number }>();
  for (const { caseId, verdict } of attempts) {
    const tries = cases.get(caseId) ?? { passed: 0, graded: 0, lost: 0 };
    cases.set(caseId, tries);
    if (verdict === "infrastructure" || verdict === "grading_error") tries.lost++;
    if (verdict === "passed" || verdict === "failed") tries.graded++;
    if (verdict === "passed") tries.passed++;
  }
  const tried = [...cases.values()];
  const strict = tried.filter((c) => c.graded + c.lost > 0);
  const graded = tried.filter((c) => c.graded > 0);
  if (graded.length === 0) return { strict: null, excludingInfrastructure: null };
  return {
    strict: meanWithInterval(strict.map((c) => c.passed / (c.graded + c.lost))),
    excludingInfrastructure: meanWithInterval(graded.map((c) => c.passed / c.graded)),
  };
}

/** Returns the number if it is from 0 to 1, else null. */
function shareOrNull(value: number | null | undefined): number | null {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : null;
}

/** Returns the pass rates of the run's summary line; computed replaces those that are missing. */
export function summaryRates(lines: readonly AttemptLine[], computed: PassRates): PassRates {
  const summary = lines.findLast((line) => line.type === "summary");
  const written = summary?.pass_rate;
  const [strict, lenient] = [shareOrNull(written?.strict), shareOrNull(written?.excluding_infrastructure)];
  if (lenient === null && computed.excludingInfrastructure === null) return computed; // nothing was graded
  const [low, high] = (written?.ci95 ?? []).map(shareOrNull);
  const interval = typeof low === "number" && typeof high === "number" && low < high ? ([low, high] as const) : null;
  return {
    strict: strict === null ? computed.strict : { mean: strict, interval, n: computed.strict?.n ?? 0 },
    excludingInfrastructure:
      lenient === null
        ? computed.excludingInfrastructure
        : {
            mean: lenient,
            interval: computed.excludingInfrastructure?.interval ?? null,
            n: computed.excludingInfrastructure?.n ?? 0,
          },
  };
}

export interface TagRate {
  tag: string;
  counts: AttemptCounts;
  rate: RateWithInterval | null;
}

/** Returns the strict pass rate of each tag, sorted by tag. An attempt counts for every tag of its case. */
export function tagRatesOf(attempts: readonly Attempt[]): TagRate[] {
  const byTag = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    for (const tag of new Set(attempt.tags)) {
      const those = byTag.get(tag);
      if (those) those.push(attempt);
      else byTag.set(tag, [attempt]);
    }
  }
  return [...byTag]
    .map(([tag, those]) => ({ tag, counts: attemptCountsOf(those), rate: passRatesOf(those).strict }))
    .sort((a, b) => a.tag.localeCompare(b.tag));
}

/**
 * Returns the total cost of attempts in US dollars; null if the price of one is unknown or none has
 * ended.
 */
export function totalCostOf(attempts: readonly Attempt[]): number | null {
  const ended = attempts.filter((attempt) => hasEnded(attempt.verdict));
  if (ended.length === 0) return null;
  let sum = 0;
  for (const { costUsd } of ended) {
    if (costUsd === null) return null;
    sum += costUsd;
  }
  return sum;
}
