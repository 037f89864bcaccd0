import { getJSON, runApiPath } from "../../api/client";
import { type AttemptLine, attemptPageSchema } from "../../protocol/api.gen";
import { type LeftOut, leftOutOf, withLeftOut } from "./leftOut";

const perPage = 10_000;

/** Lines of a run's attempts.jsonl. */
export interface Lines {
  lines: readonly AttemptLine[];
  /** Number of the last line that was looked at. */
  last: number;
  /** What could not be read; null: nothing. */
  leftOut: LeftOut | null;
}

/** The lines behind number `after`, in brief, to the end. */
export async function readLines(run: string, after: number, signal: AbortSignal): Promise<Lines> {
  const lines: AttemptLine[] = [];
  let leftOut: LeftOut | null = null;
  let last = after;
  for (;;) {
    const query = { brief: true, limit: perPage, after: last };
    const page = await getJSON(`${runApiPath(run)}/attempts`, attemptPageSchema, query, signal);
    for (const line of page.attempts) lines.push(line);
    leftOut = withLeftOut(leftOut, leftOutOf(page.left_out));
    const { next } = page;
    last = Math.max(last, page.last, next ?? last);
    if (next === null || next <= after) return { lines, last, leftOut };
    after = next;
  }
}
