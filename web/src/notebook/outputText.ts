import { anyObject, read } from "../json/schema";
import type { Output } from "../protocol/messages";
import type { State } from "../store/state";
import { executionOf } from "./cellSelectors";

/** Number of characters of one output that are searched. */
const maxOutputChars = 1_000_000;

const cachedTextByOutputs = new WeakMap<readonly Output[], string>();

/** Returns the text of the outputs of a cell's last run, for the search. Images have no text. */
export function outputText(state: State, id: string): string {
  const outputs = executionOf(state, id)?.outputs;
  if (!Array.isArray(outputs) || outputs.length === 0) return "";
  const found = cachedTextByOutputs.get(outputs) ?? outputs.map(plainTextOfOutput).join("\n");
  cachedTextByOutputs.set(outputs, found);
  return found;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI colour sequences begin with ESC
const ansiColours = /\x1b\[[0-?]*[ -/]*[@-~]/g;

function plainTextOfOutput(output: unknown): string {
  const { text, data, traceback, evalue } = read(anyObject, output);
  const shown =
    joinLines(text, "") ||
    joinLines(read(anyObject, data)["text/plain"], "") ||
    joinLines(traceback, "\n") ||
    joinLines(evalue, "");
  return shown.slice(0, maxOutputChars).replace(ansiColours, "");
}

function joinLines(value: unknown, between: string): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join(between) : "";
}
