import { anyObject, read } from "../json/schema";
import type { Output } from "../protocol/messages";
import type { State } from "../store/state";
import { runOf } from "./text";

/** No more characters of one output are searched. */
const maxOutput = 1_000_000;

const known = new WeakMap<readonly Output[], string>();

/** What the cell's last run has shown, as one text to search; pictures have none. */
export function shownText(state: State, id: string): string {
  const outputs = runOf(state, id)?.outputs;
  if (!Array.isArray(outputs) || outputs.length === 0) return "";
  const found = known.get(outputs) ?? outputs.map(plain).join("\n");
  known.set(outputs, found);
  return found;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what colours text in a terminal begins with one
const colours = /\x1b\[[0-?]*[ -/]*[@-~]/g;

function plain(output: unknown): string {
  const { text, data, traceback, evalue } = read(anyObject, output);
  const shown =
    lines(text, "") || lines(read(anyObject, data)["text/plain"], "") || lines(traceback, "\n") || lines(evalue, "");
  return shown.slice(0, maxOutput).replace(colours, "");
}

function lines(value: unknown, between: string): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join(between) : "";
}
