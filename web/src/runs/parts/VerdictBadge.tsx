import { Badge, type Tone } from "../../ui/Badge";
import { outcomeText, type Verdict } from "../data/outcome";

const verdictTones: Record<Verdict, Tone> = {
  passed: "good",
  failed: "bad",
  ungraded: "neutral",
  grading_error: "warn",
  infrastructure: "warn",
  skipped: "neutral",
  running: "accent",
  interrupted: "warn",
};

/** The verdict of an attempt as a badge. */
export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <Badge tone={verdictTones[verdict]}>{outcomeText(verdict)}</Badge>;
}
