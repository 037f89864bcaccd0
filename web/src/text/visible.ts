// Text of anyone's making, so that it can be read and nothing else.

import { jsonOf } from "../json/read";
import { seldomSeen, unseen } from "./unseen";

/** The carriage return of a line end that has a line feed too is no character of its own. */
const inText = new RegExp(`\\r\\n|[${unseen}]`, "gu");
const inName = new RegExp(`[${unseen}${seldomSeen}]`, "gu");

/** A text of many lines with what would not be seen spelt out, as <U+202E>. */
export function visible(text: string): string {
  return text.replace(inText, (found) => (found === "\r\n" ? "\n" : codePoint(found)));
}

/** A text on one line, of at most limit characters and a sign that there was more, with what would not be seen spelt out. */
export function oneLine(text: string, limit = 300): string {
  const beginning = text.slice(0, limit * 4);
  const line = beginning.replace(/\s+/g, " ").trim();
  return visible(line.length > limit || beginning.length < text.length ? `${cut(line, limit)}…` : line);
}

/** A name, of which every character counts: what would not be seen is spelt out, line ends and joiners too. What is no text is written as JSON. */
export function plainName(value: unknown, limit = 300): string {
  const text = typeof value === "string" ? value : jsonOf(value) || typeof value;
  return (text.length > limit ? `${cut(text, limit)}…` : text).replace(inName, codePoint);
}

/** The first characters of a text, without half of one. */
function cut(text: string, limit: number): string {
  return text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
}

/** "U+202E", in angle brackets. */
function codePoint(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}
