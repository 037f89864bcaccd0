/** A colour as a program asked for it: one of the 16 of a palette, or its red, green and blue from 0 to 255. */
export type Color = number | readonly [number, number, number];

/** How a piece of text looks; what is absent is as usual. */
export interface Style {
  readonly fg?: Color | undefined;
  readonly bg?: Color | undefined;
  readonly bold?: boolean | undefined;
  readonly faint?: boolean | undefined;
  readonly italic?: boolean | undefined;
  readonly underline?: boolean | undefined;
  readonly strike?: boolean | undefined;
  readonly inverse?: boolean | undefined;
  /** Where it leads when it is clicked; http or https. */
  readonly link?: string | undefined;
}

const on: Readonly<Record<number, Partial<Style>>> = {
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

/** The style after SGR, ESC [ parameters m; null: as usual. A link is not SGR's to change. */
export function withSgr(style: Style | null, parameters: string): Style | null {
  let next: Style = style ?? {};
  const codes = parameters.replaceAll(":", ";").split(";").map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = extended(codes, i + 1);
      i += used;
      if (color !== null) next = { ...next, [code === 38 ? "fg" : "bg"]: color };
    } else if (code === 0) {
      next = { link: next.link };
    } else {
      next = { ...next, ...(on[code] ?? basic(code)) };
    }
  }
  return Object.values(next).some((value) => value !== undefined) ? next : null;
}

function basic(code: number): Partial<Style> {
  if (code >= 30 && code <= 37) return { fg: code - 30 };
  if (code >= 40 && code <= 47) return { bg: code - 40 };
  if (code >= 90 && code <= 97) return { fg: code - 82 };
  if (code >= 100 && code <= 107) return { bg: code - 92 };
  return {};
}

/** The colour that `5;n` or `2;r;g;b` names, and how many numbers that took. */
function extended(codes: readonly number[], from: number): { color: Color | null; used: number } {
  if (codes[from] === 5) return { color: indexed(codes[from + 1] ?? -1), used: 2 };
  if (codes[from] !== 2) return { color: null, used: codes.length }; // nobody can tell what its numbers mean
  const [r = -1, g = -1, b = -1] = codes.slice(from + 1, from + 4);
  const color = [r, g, b].every((c) => Number.isInteger(c) && c >= 0 && c <= 255) ? ([r, g, b] as const) : null;
  return { color, used: 4 };
}

/** A colour of the 256: 16 of the palette, a cube of 6 by 6 by 6, 24 greys. */
function indexed(n: number): Color | null {
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
