import type { Style } from "./style";

/** Text of one style; null: as usual. */
export interface Segment {
  readonly text: string;
  readonly style: Style | null;
}

/** A line of a terminal. One that was handed out is never changed. */
export interface Line {
  readonly segments: readonly Segment[];
  /** In UTF-16 units. */
  readonly length: number;
  /** It goes on in the next line: there was no room for more, and no line break. */
  readonly wraps: boolean;
}

export const emptyLine: Line = { segments: [], length: 0, wraps: false };

/** The line with text written over what is at column and behind; short of it, it is filled with blanks. */
export function written(line: Line, column: number, text: string, style: Style | null): Line {
  if (column === line.length) {
    return { ...line, segments: joined(line.segments, text, style), length: column + text.length };
  }
  const before = column < line.length ? slice(line.segments, 0, column) : padded(line, column);
  const after = slice(line.segments, column + text.length, line.length);
  return {
    ...line,
    segments: [...joined(before, text, style), ...after],
    length: Math.max(line.length, column + text.length),
  };
}

/** The line without what is from column `from` up to `to`; what was behind stays where it is. */
export function erased(line: Line, from: number, to: number): Line {
  if (from >= line.length) return line;
  if (to >= line.length) return { ...line, segments: slice(line.segments, 0, from), length: from };
  return written(line, from, " ".repeat(to - from), null);
}

/** The text of lines; those that wrap are one. */
export function linesText(lines: readonly Line[]): string {
  const parts: string[] = [];
  for (const [index, line] of lines.entries()) {
    for (const segment of line.segments) parts.push(segment.text);
    if (!line.wraps && index < lines.length - 1) parts.push("\n");
  }
  return parts.join("");
}

/** The segments from column `from` up to `to`. */
function slice(segments: readonly Segment[], from: number, to: number): Segment[] {
  const found: Segment[] = [];
  let start = 0;
  for (const segment of segments) {
    if (start >= to) break;
    const end = start + segment.text.length;
    if (start >= from && end <= to) found.push(segment);
    else if (end > from) found.push({ ...segment, text: segment.text.slice(Math.max(0, from - start), to - start) });
    start = end;
  }
  return found;
}

function joined(segments: readonly Segment[], text: string, style: Style | null): Segment[] {
  const last = segments.at(-1);
  if (last === undefined || last.style !== style) return [...segments, { text, style }];
  return [...segments.slice(0, -1), { text: last.text + text, style }];
}

function padded(line: Line, column: number): Segment[] {
  return joined(line.segments, " ".repeat(column - line.length), null);
}
