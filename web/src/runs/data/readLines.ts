import { getJSON, runBase } from "../../api/client";
import { fieldsOf, listOf, numberOf } from "../../json/read";
import { type LeftOut, leftOutOf, withLeftOut } from "./leftOut";

const perPage = 10_000;

/** Lines of a run's attempts.jsonl. */
export interface Lines {
  lines: readonly unknown[];
  /** Number of the last line that was looked at. */
  last: number;
  /** What could not be read; null: nothing. */
  leftOut: LeftOut | null;
}

/** The lines behind number `after`, in brief, to the end. */
export async function readLines(run: string, after: number, signal: AbortSignal): Promise<Lines> {
  const lines: unknown[] = [];
  let leftOut: LeftOut | null = null;
  let last = after;
  for (;;) {
    const query = { brief: true, limit: perPage, after: last };
    const page = fieldsOf(await getJSON(`${runBase(run)}/attempts`, query, signal));
    for (const line of listOf(page.attempts)) lines.push(line);
    leftOut = withLeftOut(leftOut, leftOutOf(page.left_out));
    const next = numberOf(page.next);
    last = Math.max(last, numberOf(page.last) ?? last, next ?? last);
    if (next === null || next <= after) return { lines, last, leftOut };
    after = next;
  }
}
