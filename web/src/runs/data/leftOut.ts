import type { RunUnreadableLines } from "../../protocol/session.gen";

/** Lines of a run's attempts.jsonl that cannot be read, and are passed over. */
export interface LeftOut {
  /** How many. */
  lines: number;
  /** The first of them, as an editor counts. */
  first: number;
}

/** Returns the server's count, whose line numbers do not count the header; null: all lines can be read. */
export function leftOutOf(value: RunUnreadableLines | undefined): LeftOut | null {
  const { lines = 0, first = 0 } = value ?? {};
  return lines > 0 ? { lines, first: first + 1 } : null;
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
