import { numericCollator } from "../../text/displayText";
import type { Attempt } from "./attempt";
import { type Verdict, verdicts } from "./outcome";

/** A filter on the attempts of a run; "" matches any. */
export interface AttemptFilter {
  verdict: Verdict | "";
  outcome: string;
  tag: string;
  /** Part of the case id. */
  text: string;
}

export type SortColumn =
  | "case"
  | "epoch"
  | "verdict"
  | "outcome"
  | "score"
  | "duration"
  | "turns"
  | "tokens"
  | "cost"
  | "tamper";

/** Sort order of the table. by null: as in the file, newest first. */
export interface SortOrder {
  by: SortColumn | null;
  descending: boolean;
}

export interface AttemptTableView {
  filter: AttemptFilter;
  order: SortOrder;
}

const sortColumns: readonly string[] = [
  "case",
  "epoch",
  "verdict",
  "outcome",
  "score",
  "duration",
  "turns",
  "tokens",
  "cost",
  "tamper",
];

/**
 * Parses the query part of an address as filter and sort order of the attempt table. Invalid
 * parameters are ignored.
 */
export function parseTableView(search: string): AttemptTableView {
  const parameters = new URLSearchParams(search);
  const get = (name: string) => parameters.get(name) ?? "";
  const sort = get("sort");
  const by = sort.replace(/^-/, "");
  return {
    filter: {
      verdict: verdicts.find((verdict) => verdict === get("verdict")) ?? "",
      outcome: get("outcome"),
      tag: get("tag"),
      text: get("text"),
    },
    order: sortColumns.includes(by)
      ? { by: by as SortColumn, descending: sort.startsWith("-") }
      : { by: null, descending: false },
  };
}

/**
 * Returns the query part of an address for a table view, without parameters that have their default
 * value; "" if all have.
 */
export function tableViewParameters({ filter, order }: AttemptTableView): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== "") parameters.set(name, value);
  if (order.by !== null) parameters.set("sort", `${order.descending ? "-" : ""}${order.by}`);
  return parameters.toString();
}

/** Returns the attempts that match the filter, sorted. */
export function filterAndSortAttempts(
  attempts: readonly Attempt[],
  { filter, order }: AttemptTableView,
): readonly Attempt[] {
  const text = filter.text.toLowerCase();
  const passing = attempts.filter(
    (attempt) =>
      (filter.verdict === "" || attempt.verdict === filter.verdict) &&
      (filter.outcome === "" || attempt.outcome === filter.outcome) &&
      (filter.tag === "" || attempt.tags.includes(filter.tag)) &&
      attempt.caseId.toLowerCase().includes(text),
  );
  const { by } = order;
  if (by === null) return passing;
  const sign = order.descending ? -1 : 1;
  const ties = by === "case" ? compareByCaseEpochAndTry : () => 0;
  return passing.sort((a, b) => compareValues(sortValueByColumn[by](a), sortValueByColumn[by](b), sign) || ties(a, b));
}

type SortValue = string | number | null;

const sortValueByColumn: Record<SortColumn, (attempt: Attempt) => SortValue> = {
  case: (a) => a.caseId,
  epoch: (a) => (a.epoch === null ? null : a.epoch * 1e6 + (a.try ?? 0)),
  verdict: (a) => verdicts.indexOf(a.verdict),
  outcome: (a) => a.outcome,
  score: (a) => a.score,
  duration: (a) => a.durationMs,
  turns: (a) => a.turns,
  tokens: (a) => a.tokens,
  cost: (a) => a.costUsd,
  tamper: (a) => a.tamper,
};

/** Compares two attempts by case, then by epoch, then by try. */
function compareByCaseEpochAndTry(a: Attempt, b: Attempt): number {
  if (a.caseId !== b.caseId) return a.caseId < b.caseId ? -1 : 1;
  return compareValues(sortValueByColumn.epoch(a), sortValueByColumn.epoch(b), 1);
}

/** Compares two sort values; unknown ones (null) come last in either direction. */
function compareValues(a: SortValue, b: SortValue, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "string" && typeof b === "string") return sign * numericCollator.compare(a, b);
  return sign * (Number(a) - Number(b));
}
