import { anyObject, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";

/** What a tool is called, without the server's prefix that MCP puts before it. */
export function toolName(name: unknown): string {
  const text = oneLine(textOrJSON(name), 80) || "tool";
  return /^mcp__.+?__(.+)$/.exec(text)?.[1] ?? text;
}

/** Whether a tool hands in the answer: such a call need not be answered itself. */
export function isSubmission(name: unknown): boolean {
  return toolName(name) === "submit_response";
}

/** The fields of an input that hold code, the first that is there counts. */
const codeFields = ["source", "code", "new_source", "content"];

/** The code that an input holds, null: it holds none. */
export function codeOf(input: unknown): { field: string; code: string } | null {
  const fields = read(anyObject, input);
  for (const field of codeFields) {
    const code = fields[field];
    if (typeof code === "string" && code.trim() !== "") return { field, code };
  }
  return null;
}

/** The fields of an input that say what it is about. */
const saying = ["summary", "query", "message", "text"];

/** An input in a few words: its first line of code, else what it says first. */
export function gistOf(input: unknown): string {
  const found = codeOf(input);
  if (found !== null) return oneLine(firstLine(found.code));
  const fields = Object.entries(read(anyObject, input)).filter(([name]) => name !== "cell_id");
  const said = fields.find(([name, value]) => saying.includes(name) && typeof value === "string");
  if (said !== undefined) return oneLine(textOrJSON(said[1]));
  if (fields.length === 1) return oneLine(textOrJSON(fields[0]?.[1]));
  return oneLine(fields.map(([name, value]) => `${name}: ${textOrJSON(value).slice(0, 80)}`).join(", "));
}

/** The first line that says something, a comment if nothing else does. */
function firstLine(code: string): string {
  const lines = code
    .slice(0, 4000)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.find((line) => !/^\s*(#|;|import |from )/.test(line)) ?? lines[0] ?? "";
}

/** How much of a result is read for what it is about: that stands at its beginning. */
const head = 2000;

/** The cells that a call is about: that of its input, and the one that its result names. */
export function cellsOf(input: unknown, result: string): string[] {
  const named = read(anyObject, input).cell_id;
  const made = /\bcell_id"?: *"?([^\s",}]+)/.exec(result.slice(0, head))?.[1];
  const ids = [named, made].filter((id): id is string => typeof id === "string" && id !== "");
  return [...new Set(ids)];
}

/** A result may be an answer and yet tell of a run that went wrong. */
export function runFailed(result: string): boolean {
  return /^status: (error|interrupted)$/m.test(result.slice(0, head));
}

/** The JSON in a text, undefined: it is none. */
export function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
