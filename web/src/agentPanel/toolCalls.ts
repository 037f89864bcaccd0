import { anyObject, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { oneLine } from "../text/displayText";

/** Names of tool input fields that hold code; the first one present is used. */
const codeFieldNames = ["source", "code", "new_source", "content"];

/** Returns the code in a tool call's input and the field that holds it; null if there is none. */
export function codeOfToolInput(input: unknown): { field: string; code: string } | null {
  const fields = read(anyObject, input);
  for (const field of codeFieldNames) {
    const code = fields[field];
    if (typeof code === "string" && code.trim() !== "") return { field, code };
  }
  return null;
}

/** Names of tool input fields whose text summarises the call. */
const summaryFieldNames = ["summary", "query", "message", "text"];

/**
 * Summarises the input of a tool call in one line: the first line of its code, else a summary
 * field, else all fields.
 */
export function toolInputSummary(input: unknown): string {
  const found = codeOfToolInput(input);
  if (found !== null) return oneLine(firstMeaningfulLine(found.code));
  const fields = Object.entries(read(anyObject, input)).filter(([name]) => name !== "cell_id");
  const summary = fields.find(([name, value]) => summaryFieldNames.includes(name) && typeof value === "string");
  if (summary !== undefined) return oneLine(textOrJSON(summary[1]));
  if (fields.length === 1) return oneLine(textOrJSON(fields[0]?.[1]));
  return oneLine(fields.map(([name, value]) => `${name}: ${textOrJSON(value).slice(0, 80)}`).join(", "));
}

/**
 * Returns the first line of code that is not blank, a comment or an import; else the first line
 * that is not blank.
 */
function firstMeaningfulLine(code: string): string {
  const lines = code
    .slice(0, 4000)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.find((line) => !/^\s*(#|;|import |from )/.test(line)) ?? lines[0] ?? "";
}

/**
 * How many characters of a tool result are searched for a cell id and a status, which are at its
 * beginning.
 */
const maxSearchedResultChars = 2000;

/**
 * Returns the ids of the cells that a tool call refers to in its input or result, without
 * duplicates.
 */
export function cellIdsOfToolCall(input: unknown, result: string): string[] {
  const inputId = read(anyObject, input).cell_id;
  const resultId = /\bcell_id"?: *"?([^\s",}]+)/.exec(result.slice(0, maxSearchedResultChars))?.[1];
  const ids = [inputId, resultId].filter((id): id is string => typeof id === "string" && id !== "");
  return [...new Set(ids)];
}

/** Reports whether a successful tool call ran a cell that failed, according to its result. */
export function cellRunFailed(result: string): boolean {
  return /^status: (error|interrupted)$/m.test(result.slice(0, maxSearchedResultChars));
}

/** Parses a text that contains a JSON object or list; undefined if it does not. */
export function parseJSONContainer(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Matches the beginning of a code field in incomplete JSON. */
const codeFieldStartPattern = /"(?:source|code|new_source)"\s*:\s*"/;

/**
 * Returns the code received so far from the incomplete JSON input of a tool call; the JSON itself
 * if no code field has begun.
 */
export function codeOfPartialInput(json: string): string {
  const found = codeFieldStartPattern.exec(json);
  if (found === null) return json;
  const rest = json.slice(found.index + found[0].length);
  const escapedCode = /^(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/.exec(rest)?.[0] ?? "";
  try {
    return JSON.parse(`"${escapedCode}"`) as string;
  } catch {
    return json;
  }
}
