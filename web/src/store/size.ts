import { jsonOrEmpty, textOfStringOrLines } from "../json/values";
import { byteLength } from "./utf8";

/** Characters that JSON writes as they are, one byte each. */
const unescapedPattern = /^[ !#-[\]-~]*$/;

/** Returns how many bytes of UTF-8 a text takes as a JSON string, with its quotes. */
function jsonTextByteLength(text: string): number {
  if (unescapedPattern.test(text)) return text.length + 2;
  let bytes = byteLength(text) + 2;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x22 || unit === 0x5c) bytes++;
    else if (unit < 0x20) bytes += hasShortEscape(unit) ? 1 : 5;
  }
  return bytes;
}

/** Reports whether JSON escapes a control character with two characters: \b \t \n \f \r. */
function hasShortEscape(unit: number): boolean {
  return unit >= 8 && unit <= 13 && unit !== 11;
}

/** Returns how many bytes of UTF-8 a value takes as compact JSON. The value may be nested to any depth. */
export function jsonByteLength(value: unknown): number {
  let bytes = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") bytes += jsonTextByteLength(next);
    else if (Array.isArray(next)) {
      bytes += 2 + Math.max(0, next.length - 1);
      for (const item of next) waiting.push(item);
    } else if (typeof next === "object" && next !== null) {
      const entries = Object.entries(next);
      bytes += 2 + Math.max(0, entries.length - 1);
      for (const [name, item] of entries) {
        bytes += jsonTextByteLength(name) + 1;
        waiting.push(item);
      }
    } else bytes += String(next).length;
  }
  return bytes;
}

/** Reports whether a value of a MIME type is base64, or an image as text: a part of it is of no use. */
export function isBinaryMimeValue(mime: string, value: unknown): boolean {
  const [top, sub = ""] = splitMime(mime);
  if (["image", "audio", "video", "font"].includes(top) || mime === "application/pdf") return true;
  if (top === "text" || isJSONType(mime) || sub.endsWith("xml") || sub.endsWith("javascript")) return false;
  return isBase64(value);
}

function splitMime(mime: string): [string, string] {
  const slash = mime.indexOf("/");
  return slash < 0 ? [mime, ""] : [mime.slice(0, slash), mime.slice(slash + 1)];
}

/** Reports whether nbformat allows any JSON as a value of the MIME type. */
export function isJSONType(mime: string): boolean {
  return mime === "application/json" || (mime.startsWith("application/") && mime.endsWith("+json"));
}

function isBase64(value: unknown): boolean {
  if (typeof value !== "string" || value.length < 62) return false;
  const digits = value.replaceAll("\n", "");
  return digits.length % 4 === 0 && /^[A-Za-z0-9+/]*=*$/.test(digits);
}

/** Returns the bytes of a value's content: decoded if it is base64, else as in its JSON, which has `json` bytes. */
export function contentBytes(mime: string, value: unknown, json: number): number {
  const size = json - (typeof value === "string" ? 2 : 0);
  if (!isBinaryMimeValue(mime, value) || mime === "image/svg+xml") return size;
  const text = typeof value === "string" ? value : jsonOrEmpty(value);
  const breaks = countOccurrences(text, "\\n") + (text === value ? countOccurrences(text, "\n") : 0);
  const end = text === value ? jsonOrEmpty(text.slice(-5)) : text;
  return Math.floor((size - 2 * breaks) / 4) * 3 - countOccurrences(end.slice(-5), "=");
}

function countOccurrences(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found++;
  return found;
}

/** Returns a value as text: a string as it is, lines joined, anything else as JSON; "" for null and undefined. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return textOfStringOrLines(value) ?? jsonOrEmpty(value);
}
