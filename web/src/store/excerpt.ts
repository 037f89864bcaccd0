import { byteLength, placeBehind, placeWithin } from "./utf8";

/** What stands in the place of so many bytes of text. */
export function leftOut(bytes: number): string {
  return bytes === 0 ? "" : `\n[... ${bytes} bytes left out ...]\n`;
}

/**
 * The text, or, where it is longer than limit bytes, its beginning and its end,
 * half of limit each. Between them it says how much is left out; missing is how
 * many bytes are missing of the text already, before the place `gap` in it.
 */
export function cut(text: string, limit: number): string {
  const bytes = byteLength(text);
  if (bytes <= limit) return text;
  const half = Math.floor(limit / 2);
  const first = placeWithin(text, 0, bytes, half);
  const last = placeBehind(text, 0, bytes, bytes - half);
  return text.slice(0, first.index) + leftOut(last.bytes - first.bytes) + text.slice(last.index);
}
