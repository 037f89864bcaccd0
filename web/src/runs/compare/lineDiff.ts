/** A line of two texts: in both, or only in one of them. */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** More pairs of lines than this are not weighed one by one. */
const mostPairs = 1_000_000;

/** What makes b of a, line by line: the fewest lines, but for very long texts. */
export function lineDiff(a: string, b: string): readonly DiffLine[] {
  const [before, after] = [linesOf(a), linesOf(b)];
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head++;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

const same = (text: string): DiffLine => ({ kind: "same", text });
const removed = (text: string): DiffLine => ({ kind: "removed", text });
const added = (text: string): DiffLine => ({ kind: "added", text });

function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > mostPairs) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = commonLengths(a, b);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]];
    if (x !== undefined && x === y) {
      lines.push(same(x));
      i++;
      j++;
    } else if (
      x !== undefined &&
      (y === undefined || at(common, (i + 1) * width + j) >= at(common, i * width + j + 1))
    ) {
      lines.push(removed(x));
      i++;
    } else if (y !== undefined) {
      lines.push(added(y));
      j++;
    }
  }
  return lines;
}

/** At i·(b.length+1)+j: the length of the longest common subsequence of a from i and b from j on. */
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
