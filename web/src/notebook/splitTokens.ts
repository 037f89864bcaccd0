import type { Token } from "./editor/tokens";
import type { SearchHit } from "./viewState";

export interface TokenPiece extends Token {
  /** Offset in the code, in UTF-16 units. */
  offset: number;
  isHit: boolean;
}

/** Adds offsets to highlighted tokens and splits them where the search hit begins and ends. */
export function splitTokens(tokens: readonly Token[], hit: SearchHit | null): TokenPiece[] {
  const pieces: TokenPiece[] = [];
  let at = 0;
  for (const token of tokens) {
    const end = at + token.text.length;
    const cuts = hit === null ? [] : [hit.from, hit.to].filter((cut) => cut > at && cut < end);
    let from = at;
    for (const to of [...cuts, end]) {
      const inside = hit !== null && from >= hit.from && to <= hit.to;
      pieces.push({ text: token.text.slice(from - at, to - at), classes: token.classes, offset: from, isHit: inside });
      from = to;
    }
    at = end;
  }
  return pieces;
}
