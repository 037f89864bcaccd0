import { Badge, type Tone } from "../../ui/Badge";
import type { RunState } from "../data/run";

const tones: Record<RunState, Tone> = { running: "accent", finished: "neutral", interrupted: "warn" };

const titles: Record<RunState, string> = {
  running: "A program makes it right now",
  finished: "It has come to its end",
  interrupted: "The program that made it was killed, or could not write",
};

/** Whether a run goes on, in a word. */
export function StateBadge({ state }: { state: RunState }) {
  return (
    <Badge tone={tones[state]} title={titles[state]}>
      {state}
    </Badge>
  );
}
