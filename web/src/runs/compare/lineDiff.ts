/** A line of a diff: it is in both texts, only in the first (removed), or only in the second (added). */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/**
 * If the product of the line counts is larger, all lines between the first and last difference
 * count as replaced.
 */
const maxLinePairs = 1_000_000;

/** Returns the line diff that turns text a into text b. It is minimal unless the texts are very long. */
export function lineDiff(a: string, b: string): readonly DiffLine[] {
  const [before, after] = [linesOfText(a), linesOfText(b)];
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head++;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return [
    ...before.slice(0, head).map(sameDiffLine),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(sameDiffLine),
  ];
}

function linesOfText(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

const sameDiffLine = (text: string): DiffLine => ({ kind: "same", text });
const removedDiffLine = (text: string): DiffLine => ({ kind: "removed", text });
const addedDiffLine = (text: string): DiffLine => ({ kind: "added", text });

function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > maxLinePairs) return [...a.map(removedDiffLine), ...b.map(addedDiffLine)];
  const width = b.length + 1;
  const common = commonSubsequenceLengths(a, b);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]];
    if (x !== undefined && x === y) {
      lines.push(sameDiffLine(x));
      i++;
      j++;
    } else if (
      x !== undefined &&
      (y === undefined || lengthInTable(common, (i + 1) * width + j) >= lengthInTable(common, i * width + j + 1))
    ) {
      lines.push(removedDiffLine(x));
      i++;
    } else if (y !== undefined) {
      lines.push(addedDiffLine(y));
      j++;
    }
  }
  return lines;
}

/**
 * Returns a flat table; at index i·(b.length+1)+j is the length of the longest common subsequence
 * of a[i..] and b[j..].
 */
function commonSubsequenceLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(lengthInTable(lengths, (i + 1) * width + j), lengthInTable(lengths, i * width + j + 1));
      lengths[i * width + j] = a[i] === b[j] ? lengthInTable(lengths, (i + 1) * width + j + 1) + 1 : skip;
    }
  }
  return lengths;
}

function lengthInTable(lengths: Uint32Array, index: number): number {
  return lengths[index] ?? 0;
}
