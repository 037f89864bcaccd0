/** A colour of terminal text: an index from 0 to 15 into the palette, or red, green and blue from 0 to 255. */
export type Color = number | readonly [number, number, number];

/** The style of a piece of terminal text. An absent property has its default. */
export interface TextStyle {
  readonly fg?: Color | undefined;
  readonly bg?: Color | undefined;
  readonly bold?: boolean | undefined;
  readonly faint?: boolean | undefined;
  readonly italic?: boolean | undefined;
  readonly underline?: boolean | undefined;
  readonly strike?: boolean | undefined;
  readonly inverse?: boolean | undefined;
  /** Target of a link, an http or https URL. */
  readonly link?: string | undefined;
}

/** The change of style that each SGR code makes; colour codes are handled elsewhere. */
const sgrChanges: Readonly<Record<number, Partial<TextStyle>>> = {
  1: { bold: true },
  2: { faint: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: undefined, faint: undefined },
  23: { italic: undefined },
  24: { underline: undefined },
  27: { inverse: undefined },
  29: { strike: undefined },
  39: { fg: undefined },
  49: { bg: undefined },
};

/** Returns the style after an SGR sequence (ESC [ parameters m); null for the default style. SGR does not change links. */
export function applySgr(style: TextStyle | null, parameters: string): TextStyle | null {
  let next: TextStyle = style ?? {};
  const codes = parameters.replaceAll(":", ";").split(";").map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = parseExtendedColor(codes, i + 1);
      i += used;
      if (color !== null) next = { ...next, [code === 38 ? "fg" : "bg"]: color };
    } else if (code === 0) {
      next = { link: next.link };
    } else {
      next = { ...next, ...(sgrChanges[code] ?? basicColorChange(code)) };
    }
  }
  return Object.values(next).some((value) => value !== undefined) ? next : null;
}

/** Returns the change that an SGR code for one of the 16 palette colours makes; {} for any other code. */
function basicColorChange(code: number): Partial<TextStyle> {
  if (code >= 30 && code <= 37) return { fg: code - 30 };
  if (code >= 40 && code <= 47) return { bg: code - 40 };
  if (code >= 90 && code <= 97) return { fg: code - 82 };
  if (code >= 100 && code <= 107) return { bg: code - 92 };
  return {};
}

/** Parses an SGR colour, `5;n` or `2;r;g;b`. Returns it, null if it is invalid, and how many numbers to skip. */
function parseExtendedColor(codes: readonly number[], from: number): { color: Color | null; used: number } {
  if (codes[from] === 5) return { color: colorOfIndex(codes[from + 1] ?? -1), used: 2 };
  if (codes[from] !== 2) return { color: null, used: codes.length }; // unknown colour format: skip all numbers
  const [r = -1, g = -1, b = -1] = codes.slice(from + 1, from + 4);
  const color = [r, g, b].every((c) => Number.isInteger(c) && c >= 0 && c <= 255) ? ([r, g, b] as const) : null;
  return { color, used: 4 };
}

/** Returns colour n of the 256-colour table: 16 of the palette, a 6x6x6 cube, 24 greys; null if n is out of range. */
function colorOfIndex(n: number): Color | null {
  if (!Number.isInteger(n) || n < 0 || n > 255) return null;
  if (n < 16) return n;
  if (n >= 232) {
    const grey = 8 + (n - 232) * 10;
    return [grey, grey, grey];
  }
  const level = (i: number) => (i === 0 ? 0 : 55 + i * 40);
  const at = n - 16;
  return [level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6)];
}
