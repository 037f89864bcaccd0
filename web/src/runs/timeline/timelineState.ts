import type { Entry } from "../../protocol/messages";
import type { TimelineMark } from "./mark";

export const playbackSpeeds = [1, 4, 16] as const;
export type PlaybackSpeed = (typeof playbackSpeeds)[number];

/** The state of a timeline: its position, marks, playback and errors. */
export interface TimelineState {
  /** The entry after which the notebook is shown; 0: before the first. */
  seq: number;
  /** The newest entry. */
  end: number;
  /** The trace has ended. */
  isComplete: boolean;
  /** Milliseconds since the trace began. */
  ms: number;
  /** Time of day at seq, in milliseconds since 1970; null: not known. */
  wallMs: number | null;
  /** The entry at seq; null: none, or not loaded. */
  entry: Entry | null;
  /** live: it follows a running attempt. */
  mode: "still" | "playing" | "live";
  /** The state at seq is being loaded. */
  isLoading: boolean;
  /** A console held the notebook, so its cells are known only in part. */
  heldByConsole: boolean;
  marks: readonly TimelineMark[];
  /** Checkpoints and marks are loaded, except for entries still to come. */
  isLoaded: boolean;
  /** Number of agent entries that are loaded. */
  agentEntryCount: number;
  /** The last error; null: none. */
  problem: string | null;
}

export const initialTimelineState: TimelineState = {
  seq: 0,
  end: 0,
  isComplete: false,
  ms: 0,
  wallMs: null,
  entry: null,
  mode: "still",
  isLoading: false,
  heldByConsole: false,
  marks: [],
  isLoaded: false,
  agentEntryCount: 0,
  problem: null,
};
