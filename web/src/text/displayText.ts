// Makes text from any source readable and safe to display.
import { jsonOrEmpty } from "../json/values";

/**
 * Characters that are invisible or change the direction of the text around them, as the inside of a
 * character class of a regular expression with the flag u: controls except tab and line feed, bidi
 * marks, zero-width spaces, tags, unpaired surrogates. The two zero-width joiners are not included:
 * scripts and emoji need them.
 */
export const invisibleCharacters =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffc\\u{e0000}-\\u{e007f}\\p{Cs}";

/** Tab, line feed and the zero-width joiners, which are legitimate in text but not in names. */
export const nameOnlyInvisibleCharacters = "\\t\\n\\u200c\\u200d";

/** A carriage return before a line feed is part of the line end. */
const invisibleInTextPattern = new RegExp(`\\r\\n|[${invisibleCharacters}]`, "gu");
const invisibleInNamePattern = new RegExp(`[${invisibleCharacters}${nameOnlyInvisibleCharacters}]`, "gu");

/** Spells out the invisible characters of a text of any length, such as <U+202E>. */
export function showInvisible(text: string): string {
  return text.replace(invisibleInTextPattern, (found) => (found === "\r\n" ? "\n" : codePoint(found)));
}

/**
 * Returns a text on one line, at most limit characters and an ellipsis, with invisible characters
 * spelt out.
 */
export function oneLine(text: string, limit = 300): string {
  const beginning = text.slice(0, limit * 4);
  const line = beginning.replace(/\s+/g, " ").trim();
  return showInvisible(
    line.length > limit || beginning.length < text.length ? `${cutWithoutHalfPair(line, limit)}…` : line,
  );
}

/**
 * Returns a name with all invisible characters spelt out, line ends and joiners too, at most limit
 * characters. A value that is not a string is written as JSON.
 */
export function plainName(value: unknown, limit = 300): string {
  const text = typeof value === "string" ? value : jsonOrEmpty(value) || typeof value;
  return (text.length > limit ? `${cutWithoutHalfPair(text, limit)}…` : text).replace(
    invisibleInNamePattern,
    codePoint,
  );
}

/** Returns the first characters of a text, without half of a surrogate pair. */
function cutWithoutHalfPair(text: string, limit: number): string {
  return text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
}

/** Returns a character as "<U+202E>". */
function codePoint(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Sorts texts as people do: "case 2" before "case 10". */
export const numericCollator = new Intl.Collator("en", { numeric: true });
