import type { FlowEntry, FlowRequest } from "./entry";

export type Tone = "plain" | "warn" | "bad";

/** A note of an entry, or how a request has ended, in a word. */
export interface Oddity {
  /** Which icon goes with it. */
  icon: string;
  word: string;
  tone: Tone;
}

const notes: Readonly<Record<string, Oddity>> = {
  intercepted: { icon: "intercepted", word: "intercepted", tone: "plain" },
  relayed: { icon: "relayed", word: "relayed", tone: "plain" },
  timed_out: { icon: "timed_out", word: "timed out", tone: "bad" },
  late: { icon: "late", word: "late", tone: "warn" },
  orphaned: { icon: "orphaned", word: "orphaned", tone: "warn" },
  duplicate: { icon: "duplicate", word: "duplicate", tone: "warn" },
  dropped: { icon: "dropped", word: "dropped", tone: "warn" },
  malformed: { icon: "malformed", word: "malformed", tone: "bad" },
  tamper: { icon: "tamper", word: "tamper", tone: "bad" },
};

/** What is to be said of a note; null: there is none. One that is not known is said as it is. */
export function noteOf(note: string): Oddity | null {
  if (note === "") return null;
  return Object.hasOwn(notes, note) ? (notes[note] ?? null) : { icon: "other", word: note, tone: "plain" };
}

/** Nobody has been answered yet, and somebody may still be. */
export function isWaiting(request: FlowRequest, complete: boolean): boolean {
  return request.state === "unanswered" && !complete;
}

/** What is wrong with how a request has come out; null: nothing, as far as it has come. */
export function faultOf(request: FlowRequest, complete: boolean): Oddity | null {
  switch (request.state) {
    case "timed_out":
      return { icon: "timed_out", word: "timed out", tone: "bad" };
    case "failed":
      return { icon: "failed", word: "failed", tone: "bad" };
    case "unanswered":
      return complete ? { icon: "unanswered", word: "unanswered", tone: "warn" } : null;
    default:
      return request.lateMs === null ? null : { icon: "late", word: "late", tone: "warn" };
  }
}

/** Whether a person who looks for trouble should stop at an entry. own is the request that it begins. */
export function isOdd(entry: FlowEntry, own: FlowRequest | null, complete: boolean): boolean {
  const note = noteOf(entry.note);
  return (note !== null && note.tone !== "plain") || (own !== null && faultOf(own, complete) !== null);
}
