import { getJSON, runApiPath } from "../../api/client";
import { type AttemptLine, attemptPageSchema } from "../../protocol/api.gen";
import { addUnreadableLines, type UnreadableLines, unreadableLinesOf } from "./unreadableLines";

const linesPerPage = 10_000;

/** Lines that were read from a run's attempts.jsonl. */
export interface AttemptLines {
  lines: readonly AttemptLine[];
  /** Number of the last line read. */
  last: number;
  /** Unreadable lines; null: none. */
  leftOut: UnreadableLines | null;
}

/**
 * Loads all lines of a run's attempts.jsonl after line number `after`, page by page, without their
 * long fields. Rejects if a request fails.
 */
export async function readLines(run: string, after: number, signal: AbortSignal): Promise<AttemptLines> {
  const lines: AttemptLine[] = [];
  let leftOut: UnreadableLines | null = null;
  let last = after;
  for (;;) {
    const query = { brief: true, limit: linesPerPage, after: last };
    const page = await getJSON(`${runApiPath(run)}/attempts`, attemptPageSchema, query, signal);
    for (const line of page.attempts) lines.push(line);
    leftOut = addUnreadableLines(leftOut, unreadableLinesOf(page.left_out));
    const { next } = page;
    last = Math.max(last, page.last, next ?? last);
    if (next === null || next <= after) return { lines, last, leftOut };
    after = next;
  }
}
