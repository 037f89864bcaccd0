import { oneLine } from "../text/displayText";

/** The most characters of a label, an option or a cell of a table that are shown. */
const most = 300;

/** A value of any type as one short line of text; a text as it is. */
export function valueText(value: unknown, limit: number = most): string {
  if (typeof value === "string") return value === "" ? "(empty text)" : oneLine(value, limit);
  if (value === null || value === undefined) return "none";
  const float = floatOf(value);
  return oneLine(float ?? jsonText(value), limit);
}

/** The value as JSON, indented where indent says so; a word in place of what has none. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent) ?? String(value);
  } catch {
    return "(a value that is nested too deeply to be shown)";
  }
}

/** What `{"$float": "nan"}` stands for: a number that JSON has none for. */
function floatOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("$float" in value)) return null;
  const text = String(value.$float).toLowerCase();
  if (text === "nan") return "NaN";
  return /^[+-]?inf(inity)?$/.test(text) ? (text.startsWith("-") ? "-∞" : "∞") : null;
}
