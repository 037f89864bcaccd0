import type { FlowEntry, FlowRequest } from "./entry";

export type OddityTone = "plain" | "warn" | "bad";

/** A short label for what is unusual about an entry or about the result of a request. */
export interface Oddity {
  /** Name of the icon. */
  icon: string;
  label: string;
  tone: OddityTone;
}

const noteOddities: Readonly<Record<string, Oddity>> = {
  intercepted: { icon: "intercepted", label: "intercepted", tone: "plain" },
  relayed: { icon: "relayed", label: "relayed", tone: "plain" },
  timed_out: { icon: "timed_out", label: "timed out", tone: "bad" },
  late: { icon: "late", label: "late", tone: "warn" },
  orphaned: { icon: "orphaned", label: "orphaned", tone: "warn" },
  duplicate: { icon: "duplicate", label: "duplicate", tone: "warn" },
  dropped: { icon: "dropped", label: "dropped", tone: "warn" },
  malformed: { icon: "malformed", label: "malformed", tone: "bad" },
  tamper: { icon: "tamper", label: "tamper", tone: "bad" },
};

/** Returns the label of an entry's note; null for "". An unknown note is its own label. */
export function oddityOfNote(note: string): Oddity | null {
  if (note === "") return null;
  return Object.hasOwn(noteOddities, note)
    ? (noteOddities[note] ?? null)
    : { icon: "other", label: note, tone: "plain" };
}

/** Reports whether a request is unanswered and can still be answered. */
export function isRequestPending(request: FlowRequest, complete: boolean): boolean {
  return request.state === "unanswered" && !complete;
}

/** Returns the label of what went wrong with a request; null if nothing has so far. */
export function oddityOfRequest(request: FlowRequest, complete: boolean): Oddity | null {
  switch (request.state) {
    case "timed_out":
      return { icon: "timed_out", label: "timed out", tone: "bad" };
    case "failed":
      return { icon: "failed", label: "failed", tone: "bad" };
    case "unanswered":
      return complete ? { icon: "unanswered", label: "unanswered", tone: "warn" } : null;
    default:
      return request.lateMs === null ? null : { icon: "late", label: "late", tone: "warn" };
  }
}

/**
 * Reports whether the search for problems should stop at an entry. own is the request that begins
 * with the entry.
 */
export function isOddEntry(entry: FlowEntry, own: FlowRequest | null, complete: boolean): boolean {
  const note = oddityOfNote(entry.note);
  return (note !== null && note.tone !== "plain") || (own !== null && oddityOfRequest(own, complete) !== null);
}
