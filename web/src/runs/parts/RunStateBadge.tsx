import { Badge, type Tone } from "../../ui/Badge";
import type { RunState } from "../data/run";

const stateTones: Record<RunState, Tone> = { running: "accent", finished: "neutral", interrupted: "warn" };

const stateTitles: Record<RunState, string> = {
  running: "In progress",
  finished: "All attempts have ended",
  interrupted: "The program that ran it was killed or could not write",
};

/** The state of a run as a badge. */
export function RunStateBadge({ state }: { state: RunState }) {
  return (
    <Badge tone={stateTones[state]} title={stateTitles[state]}>
      {state}
    </Badge>
  );
}
