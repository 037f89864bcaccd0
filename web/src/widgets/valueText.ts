import { oneLine } from "../text/displayText";

/** How many characters of a label, an option or a table cell are shown. */
const maxTextLength = 300;

/** Returns any value as one line of at most limit characters: strings without quotes, "none" for null, other values as JSON. */
export function valueText(value: unknown, limit: number = maxTextLength): string {
  if (typeof value === "string") return value === "" ? "(empty text)" : oneLine(value, limit);
  if (value === null || value === undefined) return "none";
  const float = specialFloatText(value);
  return oneLine(float ?? jsonText(value), limit);
}

/** Returns a value as JSON, with the given indentation in blanks; for a value without JSON, such as undefined, its name; for one nested too deeply, a note. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent) ?? String(value);
  } catch {
    return "(a value that is nested too deeply to be shown)";
  }
}

/** Returns "NaN", "∞" or "-∞" for a kernel's encoding of these numbers, as {"$float": "nan"}; null for any other value. */
function specialFloatText(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("$float" in value)) return null;
  const text = String(value.$float).toLowerCase();
  if (text === "nan") return "NaN";
  return /^[+-]?inf(inity)?$/.test(text) ? (text.startsWith("-") ? "-∞" : "∞") : null;
}
