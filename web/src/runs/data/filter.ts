import { collator } from "../../text/displayText";
import type { Attempt } from "./line";
import { type Verdict, verdicts } from "./outcome";

/** Which attempts of a run are shown; "" is any. */
export interface Filter {
  verdict: Verdict | "";
  outcome: string;
  tag: string;
  /** Part of a case's id. */
  text: string;
}

export type Column =
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

/** by null: as they came, the newest first. */
export interface Order {
  by: Column | null;
  descending: boolean;
}

export interface Shown {
  filter: Filter;
  order: Order;
}

const columns: readonly string[] = [
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

/** Reads what an address says; what makes no sense there says nothing. */
export function readShown(search: string): Shown {
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
    order: columns.includes(by)
      ? { by: by as Column, descending: sort.startsWith("-") }
      : { by: null, descending: false },
  };
}

/** Writes it as the parameters of an address, without those that say nothing. */
export function writeShown({ filter, order }: Shown): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== "") parameters.set(name, value);
  if (order.by !== null) parameters.set("sort", `${order.descending ? "-" : ""}${order.by}`);
  return parameters.toString();
}

/** The attempts that a filter lets pass, in an order. */
export function shownOf(attempts: readonly Attempt[], { filter, order }: Shown): readonly Attempt[] {
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
  const ties = by === "case" ? byTry : () => 0;
  return passing.sort((a, b) => compare(keys[by](a), keys[by](b), sign) || ties(a, b));
}

type Key = string | number | null;

const keys: Record<Column, (attempt: Attempt) => Key> = {
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

/** Epochs and tries of one case stand together, in their order. */
function byTry(a: Attempt, b: Attempt): number {
  if (a.caseId !== b.caseId) return a.caseId < b.caseId ? -1 : 1;
  return compare(keys.epoch(a), keys.epoch(b), 1);
}

/** What is not known comes last in either direction. */
function compare(a: Key, b: Key, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "string" && typeof b === "string") return sign * collator.compare(a, b);
  return sign * (Number(a) - Number(b));
}
