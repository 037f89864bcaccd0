// An entry in words, as `assay trace` has them.

import { formatDuration } from "../format/format";
import { plainName } from "../text/displayText";
import type { FlowEntry, FlowRequest } from "./entry";

const longestName = 60;
const shownId = 12;

/** A silence that is worth a word, in milliseconds. */
const longSilenceMs = 1000;

/** Seconds since the trace began, as "+12.345". */
export function timeText(ms: number): string {
  return `+${(ms / 1000).toFixed(3)}`;
}

export function nameText(text: string): string {
  return plainName(text, longestName);
}

/** An id, cut as `assay trace` cuts it. */
export function idText(id: string): string {
  return plainName(id, shownId);
}

/** What an entry is about beside its type: the action, the type of an event, the state of the session. */
export function aboutText(entry: FlowEntry): string {
  return nameText(entry.action || entry.label);
}

/** How long nothing had happened before an entry; null: not worth a word, or not known, as something between is not shown. */
export function silenceMs(before: FlowEntry | null, entry: FlowEntry): number | null {
  if (before === null || before.seq !== entry.seq - 1) return null;
  const ms = entry.ms - before.ms;
  return ms >= longSilenceMs ? ms : null;
}

/** Who or what is waited for, and for how long, in milliseconds. */
export function waitText(request: FlowRequest, ms: number): string {
  const time = formatDuration(Math.floor(Math.max(0, ms) / 1000) * 1000);
  if (request.slowest === "run") return `running for ${time}`;
  if (request.slowest === "queue") return `waiting in the queue for ${time}`;
  return `waiting for ${nameText(request.slowest) || "an answer"} for ${time}`;
}

/** A delay as the server writes it, as "12.3ms" or "1.012s"; null is a dash. */
export function delayText(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1000 ? `${ms.toFixed(1)}ms` : `${(ms / 1000).toFixed(3)}s`;
}
