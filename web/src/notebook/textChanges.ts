// Minimal changes from one text to another, so that the caret keeps its place between them.

/**
 * Replaces the range from..to of a text, in UTF-16 units of the old text. Changes of a list are in
 * order and do not overlap.
 */
export interface TextChange {
  from: number;
  to: number;
  insert: string;
}

// Above this product of line counts, the differing middle becomes one change.
const maxLinePairs = 250_000;

/** Returns the changes that turn the text before into the text after; [] if they are equal. */
export function changesBetween(before: string, after: string): TextChange[] {
  if (before === after) return [];
  const head = commonPrefixLength(before, after);
  const tail = commonSuffixLength(before, after, head);
  const oldLines = splitLines(before.slice(head, before.length - tail));
  const newLines = splitLines(after.slice(head, after.length - tail));
  if (oldLines.length * newLines.length > maxLinePairs) {
    return [{ from: head, to: before.length - tail, insert: newLines.join("") }];
  }
  return diffLines(oldLines, newLines, head).map(changeTrimmer(before));
}

function commonPrefixLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

function commonSuffixLength(a: string, b: string, head: number): number {
  const end = Math.min(a.length, b.length) - head;
  let count = 0;
  while (count < end && a.charCodeAt(a.length - 1 - count) === b.charCodeAt(b.length - 1 - count)) count++;
  return count;
}

/** Splits a text into lines that keep their line ends. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * Returns the runs of lines that differ, by the longest common subsequence. start is the offset of
 * the first line in the text.
 */
function diffLines(before: string[], after: string[], start: number): TextChange[] {
  const common = commonSubsequenceLengths(before, after);
  const width = after.length + 1;
  const found: TextChange[] = [];
  let [i, j, at] = [0, 0, start];
  let open: TextChange | null = null;
  while (i < before.length || j < after.length) {
    const oldLine = before[i];
    const newLine = after[j];
    if (oldLine !== undefined && oldLine === newLine) {
      open = null;
      at += oldLine.length;
      i++;
      j++;
      continue;
    }
    if (open === null) {
      open = { from: at, to: at, insert: "" };
      found.push(open);
    }
    const removes = newLine === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0);
    if (oldLine !== undefined && removes) {
      at += oldLine.length;
      open.to = at;
      i++;
    } else {
      open.insert += newLine ?? "";
      j++;
    }
  }
  return found;
}

/**
 * Returns a flat table of the lengths of the longest common subsequences of before[i..] and
 * after[j..] for all i and j.
 */
function commonSubsequenceLengths(before: string[], after: string[]): Uint32Array {
  const width = after.length + 1;
  const table = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const here = i * width + j;
      table[here] =
        before[i] === after[j]
          ? (table[here + width + 1] ?? 0) + 1
          : Math.max(table[here + width] ?? 0, table[here + 1] ?? 0);
    }
  }
  return table;
}

/** Returns a function that removes the common beginning and end of old and new text from a change. */
function changeTrimmer(before: string) {
  return ({ from, to, insert }: TextChange): TextChange => {
    const old = before.slice(from, to);
    const head = commonPrefixLength(old, insert);
    const tail = commonSuffixLength(old, insert, head);
    return { from: from + head, to: to - tail, insert: insert.slice(head, insert.length - tail) };
  };
}
