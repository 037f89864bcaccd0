import { fieldsOf, numberOf } from "../../json/read";

/** Lines of a run's attempts.jsonl that cannot be read, and are passed over. */
export interface LeftOut {
  /** How many. */
  lines: number;
  /** The first of them, as an editor counts. */
  first: number;
}

/** Reads what the server tells, which counts from the header on as 0; null: nothing was left out. */
export function leftOutOf(value: unknown): LeftOut | null {
  const { lines, first } = fieldsOf(value);
  const n = numberOf(lines) ?? 0;
  return n > 0 ? { lines: n, first: (numberOf(first) ?? 0) + 1 } : null;
}

/** Both together; the one that was found earlier comes first. */
export function withLeftOut(old: LeftOut | null, more: LeftOut | null): LeftOut | null {
  return old && more ? { lines: old.lines + more.lines, first: old.first } : (old ?? more);
}

/** "2 lines of attempts.jsonl cannot be read and are left out; the first is line 5." */
export function leftOutWords({ lines, first }: LeftOut): string {
  if (lines === 1) return `A line of attempts.jsonl cannot be read and is left out: line ${first}.`;
  return `${lines.toLocaleString("en")} lines of attempts.jsonl cannot be read and are left out; the first is line ${first}.`;
}
