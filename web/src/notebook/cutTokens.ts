import type { Token } from "./editor/tokens";
import type { Hit } from "./view";

export interface Piece extends Token {
  /** Where in the code it begins. */
  at: number;
  hit: boolean;
}

/** The tokens with their places, cut where what was found begins and ends. */
export function cutTokens(tokens: readonly Token[], hit: Hit | null): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const token of tokens) {
    const end = at + token.text.length;
    const cuts = hit === null ? [] : [hit.from, hit.to].filter((cut) => cut > at && cut < end);
    let from = at;
    for (const to of [...cuts, end]) {
      const inside = hit !== null && from >= hit.from && to <= hit.to;
      pieces.push({ text: token.text.slice(from - at, to - at), classes: token.classes, at: from, hit: inside });
      from = to;
    }
    at = end;
  }
  return pieces;
}
