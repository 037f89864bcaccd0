import { ApiError, getJSON } from "../../api/client";
import { fieldsOf, listOf, numberOf } from "./json";
import { runBase } from "./paths";

const perPage = 10_000;
const badInRow = 3;

/** Lines of a run's attempts.jsonl. */
export interface Lines {
  lines: readonly unknown[];
  /** Number of the last line that was looked at. */
  last: number;
  /** What could not be read of it, line by line. */
  problems: readonly string[];
}

/**
 * The lines behind number `after`, in brief, to the end. A line that is no JSON is
 * told among the problems and passed over; several in a row are an error.
 */
export async function readLines(run: string, after: number, signal: AbortSignal): Promise<Lines> {
  const lines: unknown[] = [];
  const problems: string[] = [];
  let last = after;
  let bad = 0;
  for (;;) {
    try {
      const query = { brief: true, limit: perPage, after: last };
      const page = fieldsOf(await getJSON(`${runBase(run)}/attempts`, query, signal));
      bad = 0;
      lines.push(...listOf(page.attempts));
      last = Math.max(last, numberOf(page.last) ?? last);
      const next = numberOf(page.next);
      if (next === null) return { lines, last, problems };
      last = Math.max(last, next);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "unreadable" || ++bad === badInRow) throw error;
      problems.push(error.message);
      last++;
    }
  }
}
