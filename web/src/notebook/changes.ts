// The smallest way from one text to another, so that a caret between what was
// changed stays where it is.

/** A replacement of the old text's from..to. Changes are in order and do not overlap. */
export interface TextChange {
  from: number;
  to: number;
  insert: string;
}

// Above this many pairs of lines the middle is taken as one change.
const maxPairs = 250_000;

/** What makes `after` of `before`. */
export function changesBetween(before: string, after: string): TextChange[] {
  if (before === after) return [];
  const head = sharedHead(before, after);
  const tail = sharedTail(before, after, head);
  const oldLines = lines(before.slice(head, before.length - tail));
  const newLines = lines(after.slice(head, after.length - tail));
  if (oldLines.length * newLines.length > maxPairs) {
    return [{ from: head, to: before.length - tail, insert: newLines.join("") }];
  }
  return hunks(oldLines, newLines, head).map(trimmed(before));
}

function sharedHead(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

function sharedTail(a: string, b: string, head: number): number {
  const end = Math.min(a.length, b.length) - head;
  let count = 0;
  while (count < end && a.charCodeAt(a.length - 1 - count) === b.charCodeAt(b.length - 1 - count)) count++;
  return count;
}

/** The lines, each with its line end. */
function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The runs of lines that differ, by the longest common subsequence. */
function hunks(before: string[], after: string[], start: number): TextChange[] {
  const common = commonLengths(before, after);
  const width = after.length + 1;
  const found: TextChange[] = [];
  let [i, j, at] = [0, 0, start];
  let open: TextChange | null = null;
  while (i < before.length || j < after.length) {
    const old = before[i];
    const fresh = after[j];
    if (old !== undefined && old === fresh) {
      open = null;
      at += old.length;
      i++;
      j++;
      continue;
    }
    if (open === null) {
      open = { from: at, to: at, insert: "" };
      found.push(open);
    }
    const removes = fresh === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0);
    if (old !== undefined && removes) {
      at += old.length;
      open.to = at;
      i++;
    } else {
      open.insert += fresh ?? "";
      j++;
    }
  }
  return found;
}

/** At [i][j] of the flat table: how many lines before[i..] and after[j..] have in common. */
function commonLengths(before: string[], after: string[]): Uint32Array {
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

/** Leaves out what old and new text of a change begin and end with alike. */
function trimmed(before: string) {
  return ({ from, to, insert }: TextChange): TextChange => {
    const old = before.slice(from, to);
    const head = sharedHead(old, insert);
    const tail = sharedTail(old, insert, head);
    return { from: from + head, to: to - tail, insert: insert.slice(head, insert.length - tail) };
  };
}
