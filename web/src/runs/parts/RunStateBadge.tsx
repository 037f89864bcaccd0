import { Badge, type Tone } from "../../ui/Badge";
import type { RunState } from "../data/run";

const runStateTones: Record<RunState, Tone> = { running: "accent", finished: "neutral", interrupted: "warn" };

const runStateTitles: Record<RunState, string> = {
  running: "In progress",
  finished: "All attempts have ended",
  interrupted: "The program that ran it was killed or could not write",
};

/** The state of a run as a badge. */
export function RunStateBadge({ state }: { state: RunState }) {
  return (
    <Badge tone={runStateTones[state]} title={runStateTitles[state]}>
      {state}
    </Badge>
  );
}
