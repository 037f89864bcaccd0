import { type Entry, typeOfMessage } from "../../protocol/messages";

export type MarkLane = "notebook" | "runs" | "agent";

export const markLanes: readonly MarkLane[] = ["notebook", "runs", "agent"];

/** A notable entry of a trace, which is marked on the timeline. */
export interface TimelineMark {
  seq: number;
  /** Milliseconds since the trace began. */
  ms: number;
  lane: MarkLane;
}

/** Query parameters that select the entries that can be marks. */
export const markQuery = {
  hop: "notebook,kernel>server,agent>server,server>agent,session",
  type: "notebook_event,start_cell,cell_result,agent_history_updated,agent_query,agent_result,agent_error,managed_process_exit",
};

const laneByMessageType: Readonly<Record<string, MarkLane>> = {
  notebook_event: "notebook",
  start_cell: "runs",
  cell_result: "runs",
  managed_process_exit: "runs",
  agent_history_updated: "agent",
  agent_query: "agent",
  agent_result: "agent",
  agent_error: "agent",
};

/** Returns the mark of an entry, which may lack its msg; null if it has none. */
export function markOf(entry: Entry): TimelineMark | null {
  const { seq, hop, msg, cell_id = "", t_ns = 0 } = entry;
  const type = entry.type ?? (msg === null ? "" : typeOfMessage(msg));
  const lane = Object.hasOwn(laneByMessageType, type) ? laneByMessageType[type] : undefined;
  if (lane === undefined || !isHopOfLane(lane, hop)) return null;
  if (type === "start_cell" && cell_id === "") return null; // the kernel is idle
  return { seq, ms: t_ns / 1e6, lane };
}

function isHopOfLane(lane: MarkLane, hop: string): boolean {
  if (lane === "notebook") return hop === "notebook";
  if (lane === "runs") return hop === "kernel>server" || hop === "session";
  return hop === "agent>server" || hop === "server>agent";
}

/**
 * Returns the mark that is `by` marks after (positive) or before (negative) an entry, clamped to
 * the first and last; null without marks.
 */
export function markRelativeTo(marks: readonly TimelineMark[], seq: number, by: number): TimelineMark | null {
  if (marks.length === 0) return null;
  const at = by > 0 ? countItemsUpToSeq(marks, seq) - 1 + by : countItemsUpToSeq(marks, seq - 1) + by;
  return marks[Math.max(0, Math.min(marks.length - 1, at))] ?? null;
}

/** Returns how many items have an entry number of at most seq. The items must be sorted by seq. */
export function countItemsUpToSeq(marks: readonly { seq: number }[], seq: number): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the entry number of the last mark at or before a time, in milliseconds since the trace
 * began; 1 if there is none.
 */
export function seqAtTime(marks: readonly TimelineMark[], ms: number): number {
  let seq = 1;
  for (const mark of marks) {
    if (mark.ms > ms) break;
    seq = mark.seq;
  }
  return seq;
}
