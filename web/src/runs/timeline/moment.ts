import type { Entry } from "../../protocol/messages";
import type { Mark } from "./mark";

export const speeds = [1, 4, 16] as const;
export type Speed = (typeof speeds)[number];

/** Where somebody is in a trace. */
export interface Moment {
  /** The entry that they look at the notebook after; 0: nothing has come yet. */
  seq: number;
  /** The newest entry. */
  end: number;
  /** The trace has ended. */
  complete: boolean;
  /** Milliseconds since the trace began. */
  ms: number;
  /** What happened at seq, so far as it is known. */
  entry: Entry | null;
  /** live: it goes on as the attempt does. */
  mode: "still" | "playing" | "live";
  /** The state of seq is on its way. */
  busy: boolean;
  /** A console held the notebook, so that its cells are as far as can be told. */
  heldByConsole: boolean;
  marks: readonly Mark[];
  /** Tape and marks are here, but for what is still to come. */
  loaded: boolean;
  /** How many entries the tape of the agent has. */
  heard: number;
  /** What went wrong last, or null. */
  problem: string | null;
}

export const nowhere: Moment = {
  seq: 0,
  end: 0,
  complete: false,
  ms: 0,
  entry: null,
  mode: "still",
  busy: false,
  heldByConsole: false,
  marks: [],
  loaded: false,
  heard: 0,
  problem: null,
};
