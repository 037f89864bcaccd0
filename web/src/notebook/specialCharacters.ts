import { invisibleCharacters } from "../text/displayText";

// Characters that are invisible or change how the text around them is drawn: control characters and
// those that change the writing direction.

/**
 * Returns a regular expression that matches one invisible or direction-changing character. Each
 * call returns a new one, because a regular expression has a lastIndex.
 */
export function specialCharacterPattern(): RegExp {
  return new RegExp(`[${invisibleCharacters}]`, "gu");
}

/** Returns the code points of the first four different characters of a text, such as "U+202E, U+0007". */
export function codePointNames(text: string): string {
  const names = [...new Set(text)].map((character) =>
    (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0"),
  );
  const shown = names.slice(0, 4).map((name) => `U+${name}`);
  return names.length > 4 ? `${shown.join(", ")} and others` : shown.join(", ");
}

/** Splits a text into runs of invisible or direction-changing characters and runs of other characters. */
export function splitAtSpecialCharacters(text: string): { text: string; special: boolean }[] {
  const pieces: { text: string; special: boolean }[] = [];
  let at = 0;
  for (const { index, 0: found } of text.matchAll(new RegExp(`[${invisibleCharacters}]+`, "gu"))) {
    if (index > at) pieces.push({ text: text.slice(at, index), special: false });
    pieces.push({ text: found, special: true });
    at = index + found.length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), special: false });
  return pieces;
}
