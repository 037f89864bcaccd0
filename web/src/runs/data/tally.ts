import type { AttemptLine } from "../../protocol/api.gen";
import { type Rate, rateOf } from "./interval";
import type { Attempt } from "./line";
import { hasEnded, type Verdict, verdicts } from "./outcome";

export type Counts = Readonly<Record<Verdict, number>>;

/** How many attempts there are of each verdict. */
export function countsOf(attempts: readonly Attempt[]): Counts {
  const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  for (const attempt of attempts) counts[attempt.verdict]++;
  return counts;
}

/** The share of passes, once with infrastructure outcomes as failures and once without them. */
export interface PassRates {
  strict: Rate | null;
  excludingInfrastructure: Rate | null;
}

/** The rates by the rule of the command line: the mean over a case's attempts is one observation. */
export function passRatesOf(attempts: readonly Attempt[]): PassRates {
  const cases = new Map<string, { passed: number; graded: number; infrastructure: number }>();
  for (const { caseId, verdict } of attempts) {
    const tries = cases.get(caseId) ?? { passed: 0, graded: 0, infrastructure: 0 };
    cases.set(caseId, tries);
    if (verdict === "infrastructure") tries.infrastructure++;
    if (verdict === "passed" || verdict === "failed") tries.graded++;
    if (verdict === "passed") tries.passed++;
  }
  const tried = [...cases.values()];
  const strict = tried.filter((c) => c.graded + c.infrastructure > 0);
  const graded = tried.filter((c) => c.graded > 0);
  return {
    strict: rateOf(strict.map((c) => c.passed / (c.graded + c.infrastructure))),
    excludingInfrastructure: rateOf(graded.map((c) => c.passed / c.graded)),
  };
}

/** Returns a number from 0 to 1; null for anything else. */
function shareOf(value: number | null | undefined): number | null {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : null;
}

/** The rates that a run's summary line tells; what it does not tell is as it was computed. */
export function toldRates(lines: readonly AttemptLine[], computed: PassRates): PassRates {
  const summary = lines.findLast((line) => line.type === "summary");
  const written = summary?.pass_rate;
  const [strict, lenient] = [shareOf(written?.strict), shareOf(written?.excluding_infrastructure)];
  const [low, high] = (written?.ci95 ?? []).map(shareOf);
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
  counts: Counts;
  rate: Rate | null;
}

/** The strict rate of each tag, by name. An attempt counts for each tag of its case. */
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
    .map(([tag, those]) => ({ tag, counts: countsOf(those), rate: passRatesOf(those).strict }))
    .sort((a, b) => a.tag.localeCompare(b.tag));
}

/** What all attempts cost together; null: a price is not known, or there are none. */
export function costOf(attempts: readonly Attempt[]): number | null {
  const ended = attempts.filter((attempt) => hasEnded(attempt.verdict));
  if (ended.length === 0) return null;
  let sum = 0;
  for (const { costUsd } of ended) {
    if (costUsd === null) return null;
    sum += costUsd;
  }
  return sum;
}
