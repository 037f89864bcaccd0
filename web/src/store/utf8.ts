// Sizes are those of the server: bytes of UTF-8.

/** Bytes of one code unit at i, with those of the pair that it may begin. */
function unitBytes(text: string, i: number): number {
  const unit = text.charCodeAt(i);
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return isPair(text, i) ? 4 : 3;
}

function isPair(text: string, i: number): boolean {
  const first = text.charCodeAt(i);
  if (first < 0xd800 || first > 0xdbff) return false;
  const second = text.charCodeAt(i + 1);
  return second >= 0xdc00 && second <= 0xdfff;
}

const ascii = /^\p{ASCII}*$/u;
const encoder = new TextEncoder();

/** Bytes of a text. */
export function byteLength(text: string): number {
  return ascii.test(text) ? text.length : encoder.encode(text).length;
}

/** The text with U+FFFD for each surrogate without its other half. */
export function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "\ufffd") : text;
}

/** A place in a text: an index, and how many bytes there are from where it was counted. */
export interface Place {
  index: number;
  bytes: number;
}

/** The last place between two characters that is at most n bytes behind from. bytes: those of the text behind from. */
export function placeWithin(text: string, from: number, bytes: number, n: number): Place {
  if (bytes <= n) return { index: text.length, bytes };
  if (bytes === text.length - from) return { index: from + Math.max(n, 0), bytes: Math.max(n, 0) };
  const place = { index: from, bytes: 0 };
  while (place.index < text.length) {
    const size = unitBytes(text, place.index);
    if (place.bytes + size > n) break;
    place.bytes += size;
    place.index += size === 4 ? 2 : 1;
  }
  return place;
}

/** The first place between two characters that is at least n bytes behind from. */
export function placeBehind(text: string, from: number, bytes: number, n: number): Place {
  if (n >= bytes) return { index: text.length, bytes };
  if (bytes === text.length - from) return { index: from + Math.max(n, 0), bytes: Math.max(n, 0) };
  const place = { index: from, bytes: 0 };
  while (place.index < text.length && place.bytes < n) {
    const size = unitBytes(text, place.index);
    place.bytes += size;
    place.index += size === 4 ? 2 : 1;
  }
  return place;
}

/** A text of its own: a piece of a large text would else keep all of it in memory. */
export function detached(text: string): string {
  return text.length < 1024 ? text : ` ${text}`.slice(1);
}
