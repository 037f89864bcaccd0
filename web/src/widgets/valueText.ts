import { oneLine } from "../text/displayText";

/** Characters of a label, an option or a table cell that are shown. */
const maxTextLength = 300;

/** Returns any value as one short line; a string without quotes. */
export function valueText(value: unknown, limit: number = maxTextLength): string {
  if (typeof value === "string") return value === "" ? "(empty text)" : oneLine(value, limit);
  if (value === null || value === undefined) return "none";
  const float = specialFloatText(value);
  return oneLine(float ?? jsonText(value), limit);
}

/** Returns a value as JSON, with the given indentation; a word for a value that has no JSON. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent) ?? String(value);
  } catch {
    return "(a value that is nested too deeply to be shown)";
  }
}

/** Returns the number that {"$float": "nan"} stands for, as text; null if the value is something else. */
function specialFloatText(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("$float" in value)) return null;
  const text = String(value.$float).toLowerCase();
  if (text === "nan") return "NaN";
  return /^[+-]?inf(inity)?$/.test(text) ? (text.startsWith("-") ? "-∞" : "∞") : null;
}
