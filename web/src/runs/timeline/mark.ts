import { type Entry, typeOf } from "../../protocol/messages";

export type Lane = "notebook" | "runs" | "agent";

export const lanes: readonly Lane[] = ["notebook", "runs", "agent"];

/** An entry of a trace at which something of note happened. */
export interface Mark {
  seq: number;
  /** Milliseconds since the trace began. */
  ms: number;
  lane: Lane;
}

/** The types of entries that may be marks, and the hops they are looked for on. */
export const markQuery = {
  hop: "notebook,kernel>server,agent>server,server>agent,session",
  type: "notebook_event,start_cell,cell_result,agent_history_updated,agent_query,agent_result,agent_error,managed_process_exit",
};

const lanesOfTypes: Readonly<Record<string, Lane>> = {
  notebook_event: "notebook",
  start_cell: "runs",
  cell_result: "runs",
  managed_process_exit: "runs",
  agent_history_updated: "agent",
  agent_query: "agent",
  agent_result: "agent",
  agent_error: "agent",
};

/** Returns the mark of an entry, with or without its msg; null: it has none. */
export function markOf(entry: Entry): Mark | null {
  const { seq, hop, msg, cell_id = "", t_ns = 0 } = entry;
  const type = entry.type ?? (msg === null ? "" : typeOf(msg));
  const lane = Object.hasOwn(lanesOfTypes, type) ? lanesOfTypes[type] : undefined;
  if (lane === undefined || !hopFits(lane, hop)) return null;
  if (type === "start_cell" && cell_id === "") return null; // all is idle
  return { seq, ms: t_ns / 1e6, lane };
}

function hopFits(lane: Lane, hop: string): boolean {
  if (lane === "notebook") return hop === "notebook";
  if (lane === "runs") return hop === "kernel>server" || hop === "session";
  return hop === "agent>server" || hop === "server>agent";
}

/** The mark that is `by` marks away from a place, to either side; null: there is none. */
export function markFrom(marks: readonly Mark[], seq: number, by: number): Mark | null {
  if (marks.length === 0) return null;
  const at = by > 0 ? countUpTo(marks, seq) - 1 + by : countUpTo(marks, seq - 1) + by;
  return marks[Math.max(0, Math.min(marks.length - 1, at))] ?? null;
}

/** How many marks, or other things in the order of their seq, have one of at most seq. */
export function countUpTo(marks: readonly { seq: number }[], seq: number): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The seq of the last mark at or before a time, in milliseconds; 1: there is none. */
export function seqAt(marks: readonly Mark[], ms: number): number {
  let seq = 1;
  for (const mark of marks) {
    if (mark.ms > ms) break;
    seq = mark.seq;
  }
  return seq;
}
