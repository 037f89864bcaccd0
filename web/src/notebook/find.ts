// Finding text in the sources of all cells: a browser's own search sees only the
// cells that are drawn.

import type { Hit } from "./view";

/** More are not looked for. */
export const maxHits = 5000;

/** Where the text is, in the order of the cells, upper and lower case alike. */
export function findAll(ids: readonly string[], textOf: (id: string) => string, wanted: string): Hit[] {
  const hits: Hit[] = [];
  if (wanted === "") return hits;
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  for (const id of ids) {
    for (const match of textOf(id).matchAll(pattern)) {
      hits.push({ id, from: match.index, to: match.index + match[0].length });
      if (hits.length >= maxHits) return hits;
    }
  }
  return hits;
}

/** Where the search goes from the hit: to the next (1) or the one before (-1), round and round. */
export function nextHit(hits: readonly Hit[], current: Hit | null, step: 1 | -1): Hit | null {
  const at = current === null ? -1 : hits.findIndex((hit) => sameHit(hit, current));
  const next = at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length;
  return hits[next] ?? null;
}

export function sameHit(a: Hit, b: Hit): boolean {
  return a.id === b.id && a.from === b.from && a.to === b.to;
}
