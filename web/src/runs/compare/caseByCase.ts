import { numericCollator } from "../../text/displayText";
import type { Attempt } from "../data/attempt";

/** The attempts of one run at one case. */
export interface CaseResults {
  /** The last try of each epoch, by epoch. */
  attempts: readonly Attempt[];
  passed: number;
  /** Number of attempts with a verdict, including infrastructure outcomes, which should have one. */
  graded: number;
}

/** A case that was tried in at least one of two runs. */
export interface CasePair {
  caseId: string;
  /** null: not tried in this run. */
  a: CaseResults | null;
  b: CaseResults | null;
  /** Both are graded, and a different share of their epochs passed. */
  flipped: boolean;
}

/**
 * Number of cases that passed in both runs, in one of them, or in neither. A case passed if all its
 * epochs did.
 */
export interface PairCounts {
  both: number;
  onlyA: number;
  onlyB: number;
  neither: number;
  /** Cases that are graded in at most one of the runs. */
  single: number;
}

/** Returns the cases of two runs with their results: first those whose results differ, then by id. */
export function casePairs(a: readonly Attempt[], b: readonly Attempt[]): readonly CasePair[] {
  const [first, second] = [resultsByCase(a), resultsByCase(b)];
  const ids = [...new Set([...first.keys(), ...second.keys()])];
  const pairs = ids.map((caseId) => casePairOf(caseId, first.get(caseId) ?? null, second.get(caseId) ?? null));
  return pairs.sort((x, y) => Number(y.flipped) - Number(x.flipped) || numericCollator.compare(x.caseId, y.caseId));
}

export function countPairsByResult(pairs: readonly CasePair[]): PairCounts {
  const counts = { both: 0, onlyA: 0, onlyB: 0, neither: 0, single: 0 };
  for (const { a, b } of pairs) counts[pairCountKey(a, b)]++;
  return counts;
}

/** Returns which of the counts a case belongs to. */
function pairCountKey(a: CaseResults | null, b: CaseResults | null): keyof PairCounts {
  if (!isCaseGraded(a) || !isCaseGraded(b)) return "single";
  if (hasCasePassed(a)) return hasCasePassed(b) ? "both" : "onlyA";
  return hasCasePassed(b) ? "onlyB" : "neither";
}

function isCaseGraded(side: CaseResults | null): side is CaseResults {
  return side !== null && side.graded > 0;
}

function hasCasePassed(side: CaseResults): boolean {
  return side.passed === side.graded;
}

function casePairOf(caseId: string, a: CaseResults | null, b: CaseResults | null): CasePair {
  const flipped = isCaseGraded(a) && isCaseGraded(b) && a.passed * b.graded !== b.passed * a.graded;
  return { caseId, a, b, flipped };
}

function resultsByCase(attempts: readonly Attempt[]): ReadonlyMap<string, CaseResults> {
  const cases = new Map<string, Map<number, Attempt>>();
  for (const attempt of attempts) {
    if (attempt.name === "") continue; // skipped
    const epochs = cases.get(attempt.caseId) ?? new Map<number, Attempt>();
    cases.set(attempt.caseId, epochs);
    const before = epochs.get(attempt.epoch ?? 0);
    if (before === undefined || (attempt.try ?? 0) >= (before.try ?? 0)) epochs.set(attempt.epoch ?? 0, attempt);
  }
  return new Map([...cases].map(([caseId, epochs]) => [caseId, caseResultsOf([...epochs.values()])]));
}

function caseResultsOf(attempts: Attempt[]): CaseResults {
  return {
    attempts: attempts.sort((x, y) => (x.epoch ?? 0) - (y.epoch ?? 0)),
    passed: attempts.filter((attempt) => attempt.verdict === "passed").length,
    graded: attempts.filter((attempt) => attempt.verdict !== "ungraded").length,
  };
}
