import { Badge, type Tone } from "../../ui/Badge";
import type { Verdict } from "../data/outcome";

const tones: Record<Verdict, Tone> = {
  passed: "good",
  failed: "bad",
  ungraded: "neutral",
  infrastructure: "warn",
  skipped: "neutral",
  running: "accent",
  interrupted: "warn",
};

/** What an attempt has come to, in a word. */
export function VerdictMark({ verdict }: { verdict: Verdict }) {
  return <Badge tone={tones[verdict]}>{verdict}</Badge>;
}
