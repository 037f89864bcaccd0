// Searches text in all cells, in their sources and outputs: the browser's search finds only the
// cells that are drawn.

import type { SearchHit } from "./viewState";

/** Maximum number of hits of a search; the search stops there. */
export const maxSearchHits = 5000;

/** Functions that return the searchable texts of a cell by its id. */
export interface CellTexts {
  source(id: string): string;
  outputs(id: string): string;
}

/**
 * Returns all hits of a text in the order of the cells, ignoring case; [] if the text is empty.
 * Stops after 5000 hits.
 */
export function findHitsInCells(ids: readonly string[], texts: CellTexts, wanted: string): SearchHit[] {
  const hits: SearchHit[] = [];
  if (wanted === "") return hits;
  for (const id of ids) {
    for (const { from, to } of matchRanges(texts.source(id), wanted)) hits.push({ id, from, to, inOutputs: null });
    matchRanges(texts.outputs(id), wanted).forEach(({ from, to }, nth) => {
      hits.push({ id, from, to, inOutputs: { text: wanted, nth } });
    });
    if (hits.length >= maxSearchHits) return hits.slice(0, maxSearchHits);
  }
  return hits;
}

/** Returns the ranges of a text that match, ignoring case; at most maxSearchHits. */
export function matchRanges(text: string, wanted: string): { from: number; to: number }[] {
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  const found: { from: number; to: number }[] = [];
  for (const match of text.matchAll(pattern)) {
    found.push({ from: match.index, to: match.index + match[0].length });
    if (found.length >= maxSearchHits) break;
  }
  return found;
}

/**
 * Returns the search hit after (1) or before (-1) the current one, continuing at the other end;
 * null if there are no hits.
 */
export function nextHit(hits: readonly SearchHit[], current: SearchHit | null, step: 1 | -1): SearchHit | null {
  const at = current === null ? -1 : hits.findIndex((hit) => isSameHit(hit, current));
  const next = at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length;
  return hits[next] ?? null;
}

export function isSameHit(a: SearchHit, b: SearchHit): boolean {
  return a.id === b.id && a.from === b.from && a.to === b.to && (a.inOutputs === null) === (b.inOutputs === null);
}
