import type { TextStyle } from "./textStyle";

/** Text of one style in a line. */
export interface TextSegment {
  readonly text: string;
  /** null: the default style. */
  readonly style: TextStyle | null;
}

/** A line of a terminal. Immutable: a change makes a new line. */
export interface Line {
  readonly segments: readonly TextSegment[];
  /** Length in UTF-16 units. */
  readonly length: number;
  /** Whether the text continues in the next line without a line break, because this line is full. */
  readonly isWrapped: boolean;
}

/** A line without text. */
export const emptyLine: Line = { segments: [], length: 0, isWrapped: false };

/** Returns the line with text written over it from a column on. A shorter line is first filled with blanks up to the column. */
export function writeText(line: Line, column: number, text: string, style: TextStyle | null): Line {
  if (column === line.length) {
    return { ...line, segments: appendSegment(line.segments, text, style), length: column + text.length };
  }
  const before = column < line.length ? sliceSegments(line.segments, 0, column) : padSegments(line, column);
  const after = sliceSegments(line.segments, column + text.length, line.length);
  return {
    ...line,
    segments: [...appendSegment(before, text, style), ...after],
    length: Math.max(line.length, column + text.length),
  };
}

/** Returns the line with the columns from `from` to `to` - 1 blank. Later columns keep their positions. */
export function eraseColumns(line: Line, from: number, to: number): Line {
  if (from >= line.length) return line;
  if (to >= line.length) return { ...line, segments: sliceSegments(line.segments, 0, from), length: from };
  return writeText(line, from, " ".repeat(to - from), null);
}

/** Returns the text of lines joined by "\n"; a wrapped line is joined to the next without one. */
export function linesText(lines: readonly Line[]): string {
  const parts: string[] = [];
  for (const [index, line] of lines.entries()) {
    for (const segment of line.segments) parts.push(segment.text);
    if (!line.isWrapped && index < lines.length - 1) parts.push("\n");
  }
  return parts.join("");
}

/** Returns the segments of the columns from `from` to `to` - 1. */
function sliceSegments(segments: readonly TextSegment[], from: number, to: number): TextSegment[] {
  const found: TextSegment[] = [];
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

/** Returns the segments with text appended, which joins the last one if that has the same style. */
function appendSegment(segments: readonly TextSegment[], text: string, style: TextStyle | null): TextSegment[] {
  const last = segments.at(-1);
  if (last === undefined || last.style !== style) return [...segments, { text, style }];
  return [...segments.slice(0, -1), { text: last.text + text, style }];
}

/** Returns the segments of a line, filled with blanks up to a column. */
function padSegments(line: Line, column: number): TextSegment[] {
  return appendSegment(line.segments, " ".repeat(column - line.length), null);
}
