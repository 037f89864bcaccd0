import { oneLine } from "../text/displayText";
import type { Tone } from "../ui/Badge";

/** The outcomes of an attempt, in words. */
const words: Readonly<Record<string, string>> = {
  completed: "The agent handed in an answer.",
  stopped_without_answer: "The agent stopped without an answer.",
  limit: "A limit was reached.",
  asked_question: "The agent asked a second question.",
  kernel_exit: "The kernel died.",
  agent_error: "The agent gave up with an error.",
  agent_exit: "The agent died.",
  console_lost: "The console that held the notebook was lost.",
  harness_error: "Something outside of the agent went wrong.",
  setup_error: "The attempt could not be set up.",
  cancelled: "The attempt was cancelled.",
};

/** How an attempt ended, in a sentence. */
export function outcomeWords(outcome: string): string {
  if (Object.hasOwn(words, outcome)) return words[outcome] ?? "";
  return outcome === "" ? "It is not known how the attempt ended." : `The attempt ended as ${oneLine(outcome, 60)}.`;
}

/** What was decided, in a word. */
export function ruling(result: { passed: boolean | null; outcome: string }): { word: string; tone: Tone } {
  if (result.passed === true) return { word: "Passed", tone: "good" };
  if (result.passed === false) return { word: "Failed", tone: "bad" };
  return { word: "Not graded", tone: "neutral" };
}
