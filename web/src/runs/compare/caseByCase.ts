import { collator } from "../../text/displayText";
import type { Attempt } from "../data/line";

/** What a run has come to at one case. */
export interface Side {
  /** The last try of each epoch, in their order. */
  attempts: readonly Attempt[];
  passed: number;
  /** Those that have a verdict, or should have. */
  graded: number;
}

/** A case that two runs, or one of them, have tried. */
export interface CasePair {
  caseId: string;
  /** null: this run has not tried it. */
  a: Side | null;
  b: Side | null;
  /** Both have a verdict, and not as many of their epochs passed. */
  flipped: boolean;
}

/** How many cases passed where. A case passed when all its epochs did. */
export interface PairCounts {
  both: number;
  onlyA: number;
  onlyB: number;
  neither: number;
  /** Cases with a verdict in not more than one of the runs. */
  single: number;
}

/** The cases of two runs: those that flipped first, then by id. */
export function casePairs(a: readonly Attempt[], b: readonly Attempt[]): readonly CasePair[] {
  const [first, second] = [sidesOf(a), sidesOf(b)];
  const ids = [...new Set([...first.keys(), ...second.keys()])];
  const pairs = ids.map((caseId) => pairOf(caseId, first.get(caseId) ?? null, second.get(caseId) ?? null));
  return pairs.sort((x, y) => Number(y.flipped) - Number(x.flipped) || collator.compare(x.caseId, y.caseId));
}

export function pairCounts(pairs: readonly CasePair[]): PairCounts {
  const counts = { both: 0, onlyA: 0, onlyB: 0, neither: 0, single: 0 };
  for (const { a, b } of pairs) counts[placeOf(a, b)]++;
  return counts;
}

function placeOf(a: Side | null, b: Side | null): keyof PairCounts {
  if (!isGraded(a) || !isGraded(b)) return "single";
  if (passes(a)) return passes(b) ? "both" : "onlyA";
  return passes(b) ? "onlyB" : "neither";
}

function isGraded(side: Side | null): side is Side {
  return side !== null && side.graded > 0;
}

function passes(side: Side): boolean {
  return side.passed === side.graded;
}

function pairOf(caseId: string, a: Side | null, b: Side | null): CasePair {
  const flipped = isGraded(a) && isGraded(b) && a.passed * b.graded !== b.passed * a.graded;
  return { caseId, a, b, flipped };
}

function sidesOf(attempts: readonly Attempt[]): ReadonlyMap<string, Side> {
  const cases = new Map<string, Map<number, Attempt>>();
  for (const attempt of attempts) {
    if (attempt.name === "") continue; // it was skipped
    const epochs = cases.get(attempt.caseId) ?? new Map<number, Attempt>();
    cases.set(attempt.caseId, epochs);
    const before = epochs.get(attempt.epoch ?? 0);
    if (before === undefined || (attempt.try ?? 0) >= (before.try ?? 0)) epochs.set(attempt.epoch ?? 0, attempt);
  }
  return new Map([...cases].map(([caseId, epochs]) => [caseId, sideOf([...epochs.values()])]));
}

function sideOf(attempts: Attempt[]): Side {
  return {
    attempts: attempts.sort((x, y) => (x.epoch ?? 0) - (y.epoch ?? 0)),
    passed: attempts.filter((attempt) => attempt.verdict === "passed").length,
    graded: attempts.filter((attempt) => attempt.verdict !== "ungraded").length,
  };
}
