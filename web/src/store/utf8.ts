// Sizes of text in bytes of UTF-8, as the server counts them, and cutting text at such sizes.

/** Returns the bytes of the character at index i: 4 for a surrogate pair, which has two code units. */
function bytesOfCharacterAt(text: string, i: number): number {
  const unit = text.charCodeAt(i);
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return isSurrogatePairAt(text, i) ? 4 : 3;
}

function isSurrogatePairAt(text: string, i: number): boolean {
  const first = text.charCodeAt(i);
  if (first < 0xd800 || first > 0xdbff) return false;
  const second = text.charCodeAt(i + 1);
  return second >= 0xdc00 && second <= 0xdfff;
}

const asciiPattern = /^\p{ASCII}*$/u;
const utf8Encoder = new TextEncoder();

/** Returns the bytes of a text. */
export function byteLength(text: string): number {
  return asciiPattern.test(text) ? text.length : utf8Encoder.encode(text).length;
}

/** Returns the text with U+FFFD for each unpaired surrogate. */
export function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "\ufffd") : text;
}

/** A position in a text: its index, and the bytes between it and where counting started. */
export interface TextPosition {
  index: number;
  bytes: number;
}

/**
 * Returns the last position between two characters that is at most n bytes after index `from`.
 * bytes is the size of the text after `from`.
 */
export function lastPositionWithin(text: string, from: number, bytes: number, n: number): TextPosition {
  if (bytes <= n) return { index: text.length, bytes };
  if (bytes === text.length - from) return { index: from + Math.max(n, 0), bytes: Math.max(n, 0) };
  const position = { index: from, bytes: 0 };
  while (position.index < text.length) {
    const size = bytesOfCharacterAt(text, position.index);
    if (position.bytes + size > n) break;
    position.bytes += size;
    position.index += size === 4 ? 2 : 1;
  }
  return position;
}

/**
 * Returns the first position between two characters that is at least n bytes after index `from`.
 * bytes is the size of the text after `from`.
 */
export function firstPositionAfter(text: string, from: number, bytes: number, n: number): TextPosition {
  if (n >= bytes) return { index: text.length, bytes };
  if (bytes === text.length - from) return { index: from + Math.max(n, 0), bytes: Math.max(n, 0) };
  const position = { index: from, bytes: 0 };
  while (position.index < text.length && position.bytes < n) {
    const size = bytesOfCharacterAt(text, position.index);
    position.bytes += size;
    position.index += size === 4 ? 2 : 1;
  }
  return position;
}

/** Copies a text: a slice of a long text would keep all of it in memory. */
export function copyOfText(text: string): string {
  return text.length < 1024 ? text : ` ${text}`.slice(1);
}

/** Returns the note that stands for so many bytes of text that were left out; "" for 0. */
export function omissionNote(bytes: number): string {
  return bytes === 0 ? "" : `\n[... ${bytes} bytes left out ...]\n`;
}

/**
 * Returns the text, or, if it is longer than limit bytes, its beginning and its end, half of
 * limit each, with a note between them that says how much is left out.
 */
export function shortenMiddle(text: string, limit: number): string {
  const bytes = byteLength(text);
  if (bytes <= limit) return text;
  const half = Math.floor(limit / 2);
  const first = lastPositionWithin(text, 0, bytes, half);
  const last = firstPositionAfter(text, 0, bytes, bytes - half);
  return text.slice(0, first.index) + omissionNote(last.bytes - first.bytes) + text.slice(last.index);
}
