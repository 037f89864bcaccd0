// Finding text in all cells, in their sources and in what they have shown: a
// browser's own search sees only the cells that are drawn.

import type { Hit } from "./view";

/** More are not looked for. */
export const maxHits = 5000;

/** The texts of a cell. */
export interface Texts {
  source(id: string): string;
  shown(id: string): string;
}

/** Where the text is, in the order of the cells, upper and lower case alike. */
export function findAll(ids: readonly string[], texts: Texts, wanted: string): Hit[] {
  const hits: Hit[] = [];
  if (wanted === "") return hits;
  for (const id of ids) {
    for (const { from, to } of matches(texts.source(id), wanted)) hits.push({ id, from, to, shown: null });
    matches(texts.shown(id), wanted).forEach(({ from, to }, nth) => {
      hits.push({ id, from, to, shown: { text: wanted, nth } });
    });
    if (hits.length >= maxHits) return hits.slice(0, maxHits);
  }
  return hits;
}

/** The first places in the text where the wanted one is, upper and lower case alike. */
export function matches(text: string, wanted: string): { from: number; to: number }[] {
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  const found: { from: number; to: number }[] = [];
  for (const match of text.matchAll(pattern)) {
    found.push({ from: match.index, to: match.index + match[0].length });
    if (found.length >= maxHits) break;
  }
  return found;
}

/** Where the search goes from the hit: to the next (1) or the one before (-1), round and round. */
export function nextHit(hits: readonly Hit[], current: Hit | null, step: 1 | -1): Hit | null {
  const at = current === null ? -1 : hits.findIndex((hit) => sameHit(hit, current));
  const next = at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length;
  return hits[next] ?? null;
}

export function sameHit(a: Hit, b: Hit): boolean {
  return a.id === b.id && a.from === b.from && a.to === b.to && (a.shown === null) === (b.shown === null);
}
