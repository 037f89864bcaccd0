import { oneLine } from "../text/displayText";
import type { Tone } from "../ui/Badge";

/** A sentence for each outcome of an attempt. */
const outcomeTexts: Readonly<Record<string, string>> = {
  completed: "The agent submitted an answer.",
  stopped_without_answer: "The agent stopped without an answer.",
  limit: "A limit was reached.",
  asked_question: "The agent asked a second question.",
  kernel_exit: "The kernel died.",
  agent_error: "The agent gave up with an error.",
  agent_exit: "The agent died.",
  console_lost: "The console that owned the notebook disconnected.",
  harness_error: "The harness had an error.",
  setup_error: "The attempt could not be set up.",
  cancelled: "The attempt was cancelled.",
};

/** Returns a sentence that says how an attempt ended. person: who did the agent's work; "" for an agent. */
export function outcomeText(outcome: string, person = ""): string {
  const text = Object.hasOwn(outcomeTexts, outcome) ? (outcomeTexts[outcome] ?? "") : "";
  if (text !== "") return person === "" ? text : text.replace(/^The agent/, "The person");
  return outcome === "" ? "The outcome is unknown." : `The attempt ended with outcome ${oneLine(outcome, 60)}.`;
}

/** Returns the label and color for a passed, failed or ungraded attempt. */
export function passedOrFailedLabel(result: { passed: boolean | null; outcome: string }): {
  label: string;
  tone: Tone;
} {
  if (result.passed === true) return { label: "Passed", tone: "good" };
  if (result.passed === false) return { label: "Failed", tone: "bad" };
  return { label: "Not graded", tone: "neutral" };
}
