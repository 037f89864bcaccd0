import type { Cell, Notebook } from "../../store/state";

/** Cells of two notebooks that stand for each other; null: the other notebook has none for it. */
export interface Pair {
  a: Cell | null;
  b: Cell | null;
}

/** More pairs of cells than this are not weighed: then cells stand for each other by their place. */
const mostPairs = 250_000;
/** Cells with a smaller share of their words in common than this are different cells. */
const leastAlike = 0.4;

/** The cells of two notebooks side by side, each in its order, so that as much as can be is alike. */
export function alignCells(a: Notebook, b: Notebook): readonly Pair[] {
  const [left, right] = [cellsOf(a), cellsOf(b)];
  if (left.length * right.length > mostPairs) return byPlace(left, right);
  const width = right.length + 1;
  const alike = likeness(left, right);
  const best = new Float64Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const paired = alike(i, j);
      best[i * width + j] = Math.max(
        best[(i + 1) * width + j] ?? 0,
        best[i * width + j + 1] ?? 0,
        paired > 0 ? paired + (best[(i + 1) * width + j + 1] ?? 0) : 0,
      );
    }
  }
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const here = best[i * width + j] ?? 0;
    const paired = i < left.length && j < right.length ? alike(i, j) : 0;
    if (paired > 0 && here === paired + (best[(i + 1) * width + j + 1] ?? 0)) {
      pairs.push({ a: left[i++] ?? null, b: right[j++] ?? null });
    } else if (i < left.length && (j >= right.length || here === best[(i + 1) * width + j])) {
      pairs.push({ a: left[i++] ?? null, b: null });
    } else {
      pairs.push({ a: null, b: right[j++] ?? null });
    }
  }
  return pairs;
}

function cellsOf({ order, cells }: Notebook): readonly Cell[] {
  return order.map((id) => cells[id]).filter((cell) => cell !== undefined);
}

function byPlace(a: readonly Cell[], b: readonly Cell[]): readonly Pair[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, place) => ({
    a: a[place] ?? null,
    b: b[place] ?? null,
  }));
}

/** How alike two cells are, by their places: 1 is the same source, 0 nothing in common. */
function likeness(a: readonly Cell[], b: readonly Cell[]): (i: number, j: number) => number {
  const [left, right] = [a.map(wordsOf), b.map(wordsOf)];
  return (i, j) => {
    const [cell, other, words, others] = [a[i], b[j], left[i], right[j]];
    if (!cell || !other || !words || !others || cell.type !== other.type) return 0;
    if (cell.source === other.source) return 1;
    const both = [...words].filter((word) => others.has(word)).length;
    const share = (2 * both) / Math.max(1, words.size + others.size);
    return share >= leastAlike ? share * 0.99 : 0;
  };
}

function wordsOf(cell: Cell): ReadonlySet<string> {
  return new Set(cell.source.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
}
