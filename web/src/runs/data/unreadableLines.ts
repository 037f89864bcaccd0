import type { RunUnreadableLines } from "../../protocol/session.gen";

/** Unreadable lines of a run's attempts.jsonl, which are skipped. */
export interface UnreadableLines {
  /** Number of lines. */
  lines: number;
  /** Line number of the first one, as in an editor. */
  first: number;
}

/**
 * Converts the server's count of unreadable lines of attempts.jsonl. The server's line numbers do
 * not count the header line, the result's do. null: all lines are readable.
 */
export function unreadableLinesOf(value: RunUnreadableLines | undefined): UnreadableLines | null {
  const { lines = 0, first = 0 } = value ?? {};
  return lines > 0 ? { lines, first: first + 1 } : null;
}

/** Adds two counts of unreadable lines, the earlier lines first. null counts as none. */
export function addUnreadableLines(old: UnreadableLines | null, more: UnreadableLines | null): UnreadableLines | null {
  return old && more ? { lines: old.lines + more.lines, first: old.first } : (old ?? more);
}

/**
 * Returns a sentence about unreadable lines, such as "2 lines of attempts.jsonl cannot be read and
 * are left out; the first is line 5."
 */
export function unreadableLinesText({ lines, first }: UnreadableLines): string {
  if (lines === 1) return `A line of attempts.jsonl cannot be read and is left out: line ${first}.`;
  return `${lines.toLocaleString("en")} lines of attempts.jsonl cannot be read and are left out; the first is line ${first}.`;
}
