// Texts of anyone's making, so that they can be read and nothing else.

/** The most characters of a label, an option or a cell of a table that are shown. */
const most = 300;

// Characters that turn the direction of what follows, or show nothing and deceive.
const turning = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with what does not show, or turns the rest around, made visible. Line feeds and tabs stay. */
export function visible(text: string): string {
  return Array.from(text, control).join("").replace(turning, "\ufffd");
}

/** Pictures of the C0 controls, U+2400 on, and the replacement character for the C1 ones. */
function control(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return character === "\n" || character === "\t" ? character : String.fromCodePoint(0x2400 + code);
  return code >= 0x7f && code <= 0x9f ? "\ufffd" : character;
}

/** The text on one line, and not longer than a reader wants. */
export function short(text: string, limit: number = most): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return visible(cut.replace(/\s+/g, " "));
}

/** A value of any type as one short line of text; a text as it is. */
export function valueText(value: unknown, limit: number = most): string {
  if (typeof value === "string") return value === "" ? "(empty text)" : short(value, limit);
  if (value === null || value === undefined) return "none";
  const float = floatOf(value);
  return short(float ?? jsonText(value), limit);
}

/** The text, or "" for what is none. */
export function plainText(value: unknown): string {
  return typeof value === "string" ? value : "";
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
