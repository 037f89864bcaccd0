// Texts of an entry, as `assay trace` prints them.

import { formatDuration } from "../format/format";
import { plainName } from "../text/displayText";
import type { FlowEntry, FlowRequest } from "./entry";

const maxNameChars = 60;
const maxIdChars = 12;

/** Pauses between entries of at least this many milliseconds are shown. */
const longPauseMs = 1000;

/** Formats milliseconds since the trace began as seconds: "+12.345". */
export function traceTimeText(ms: number): string {
  return `+${(ms / 1000).toFixed(3)}`;
}

export function shortNameText(text: string): string {
  return plainName(text, maxNameChars);
}

/** Shortens an id in the same way as `assay trace`. */
export function shortIdText(id: string): string {
  return plainName(id, maxIdChars);
}

/**
 * Returns what an entry is about besides its type: an action, the type of an event, or the state of
 * the session; "" if nothing.
 */
export function entrySubjectText(entry: FlowEntry): string {
  return shortNameText(entry.action || entry.label);
}

/**
 * Returns the milliseconds since the previous entry; null if the pause is short, or if an entry in
 * between is hidden.
 */
export function pauseBeforeEntry(before: FlowEntry | null, entry: FlowEntry): number | null {
  if (before === null || before.seq !== entry.seq - 1) return null;
  const ms = entry.ms - before.ms;
  return ms >= longPauseMs ? ms : null;
}

/** Returns what a request is waiting for and for how long. ms is the time in milliseconds. */
export function requestWaitText(request: FlowRequest, ms: number): string {
  const time = formatDuration(Math.floor(Math.max(0, ms) / 1000) * 1000);
  if (request.slowest === "run") return `running for ${time}`;
  if (request.slowest === "queue") return `waiting in the queue for ${time}`;
  if (request.slowest === "wait") return `waiting for other calls for ${time}`;
  if (request.slowest === "model") return `waiting for the model for ${time}`;
  return `waiting for ${shortNameText(request.slowest) || "an answer"} for ${time}`;
}

/**
 * Formats a delay in milliseconds in the same way as the server, such as "12.3ms" or "1.012s"; "–"
 * for null.
 */
export function delayText(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1000 ? `${ms.toFixed(1)}ms` : `${(ms / 1000).toFixed(3)}s`;
}
