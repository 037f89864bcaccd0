import type { Cell, Notebook } from "../../store/state";

/** A pair of matching cells of two notebooks. null: the other notebook has no matching cell. */
export interface MatchedCells {
  a: Cell | null;
  b: Cell | null;
}

/**
 * If the product of the two notebooks' cell counts is larger, cells are matched by position instead
 * of by similarity.
 */
const maxCellPairs = 250_000;
/** Minimum share of common words, from 0 to 1, for two cells to match. */
const minSimilarity = 0.4;

/**
 * Matches the cells of two notebooks without changing their order, so that the sum of the
 * similarities is as large as possible.
 */
export function alignCells(a: Notebook, b: Notebook): readonly MatchedCells[] {
  const [left, right] = [cellsOf(a), cellsOf(b)];
  if (left.length * right.length > maxCellPairs) return matchByPosition(left, right);
  const width = right.length + 1;
  const alike = cellSimilarity(left, right);
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
  const pairs: MatchedCells[] = [];
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

function matchByPosition(a: readonly Cell[], b: readonly Cell[]): readonly MatchedCells[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, place) => ({
    a: a[place] ?? null,
    b: b[place] ?? null,
  }));
}

/**
 * Returns the similarity of cell a[i] and cell b[j], from 0 to 1: 1 for equal sources, 0 if they
 * must not match.
 */
function cellSimilarity(a: readonly Cell[], b: readonly Cell[]): (i: number, j: number) => number {
  const [left, right] = [a.map(distinctWordsOfCell), b.map(distinctWordsOfCell)];
  return (i, j) => {
    const [cell, other, words, others] = [a[i], b[j], left[i], right[j]];
    if (!cell || !other || !words || !others || cell.type !== other.type) return 0;
    if (cell.source === other.source) return 1;
    const both = [...words].filter((word) => others.has(word)).length;
    const share = (2 * both) / Math.max(1, words.size + others.size);
    return share >= minSimilarity ? share * 0.99 : 0;
  };
}

function distinctWordsOfCell(cell: Cell): ReadonlySet<string> {
  return new Set(cell.source.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
}
