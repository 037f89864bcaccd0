import { invisibleCharacters } from "../text/displayText";

// Characters that would change how the text around them is drawn, or that cannot
// be seen: control characters, and those that turn the direction of writing.

/** Finds such a character. A new object at each call, for it remembers where it was. */
export function specials(): RegExp {
  return new RegExp(`[${invisibleCharacters}]`, "gu");
}

/** What the characters are called, the first few of them: "U+202E, U+0007". */
export function specialNames(text: string): string {
  const names = [...new Set(text)].map((character) =>
    (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0"),
  );
  const shown = names.slice(0, 4).map((name) => `U+${name}`);
  return names.length > 4 ? `${shown.join(", ")} and others` : shown.join(", ");
}

/** The text in pieces, each of special characters or of others. */
export function specialPieces(text: string): { text: string; special: boolean }[] {
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
