/** A line that is in both texts, or only in the first (removed) or the second (added). */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Above this product of line counts, all differing lines count as replaced. */
const maxLinePairs = 1_000_000;

/** Returns a minimal line diff from a to b; for very long texts not a minimal one. */
export function lineDiff(a: string, b: string): readonly DiffLine[] {
  const [before, after] = [linesOf(a), linesOf(b)];
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head++;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return [
    ...before.slice(0, head).map(sameLine),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(sameLine),
  ];
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

const sameLine = (text: string): DiffLine => ({ kind: "same", text });
const removedLine = (text: string): DiffLine => ({ kind: "removed", text });
const addedLine = (text: string): DiffLine => ({ kind: "added", text });

function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > maxLinePairs) return [...a.map(removedLine), ...b.map(addedLine)];
  const width = b.length + 1;
  const common = commonLengths(a, b);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]];
    if (x !== undefined && x === y) {
      lines.push(sameLine(x));
      i++;
      j++;
    } else if (
      x !== undefined &&
      (y === undefined || at(common, (i + 1) * width + j) >= at(common, i * width + j + 1))
    ) {
      lines.push(removedLine(x));
      i++;
    } else if (y !== undefined) {
      lines.push(addedLine(y));
      j++;
    }
  }
  return lines;
}

/** Returns at i·(b.length+1)+j the length of the longest common subsequence of a[i..] and b[j..]. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(at(lengths, (i + 1) * width + j), at(lengths, i * width + j + 1));
      lengths[i * width + j] = a[i] === b[j] ? at(lengths, (i + 1) * width + j + 1) + 1 : skip;
    }
  }
  return lengths;
}

function at(lengths: Uint32Array, index: number): number {
  return lengths[index] ?? 0;
}
