import { memo, useLayoutEffect, useMemo, useRef } from "react";
import styles from "./Code.module.css";
import type { Token } from "./editor/tokens";
import { splitTokens } from "./splitTokens";
import { VisibleText } from "./VisibleText";
import type { SearchHit } from "./viewState";

interface Props {
  text: string;
  /** null: without syntax highlighting. */
  tokens: readonly Token[] | null;
  hit: SearchHit | null;
  /** Called when the user clicks in the text or selects a range of it, with offsets in UTF-16 units. */
  onSelectRange?: ((anchor: number, head: number) => void) | undefined;
}

/** Read-only highlighted code, laid out exactly like the editor that may replace it. */
export const StaticCode = memo(function StaticCode({ text, tokens, hit, onSelectRange }: Props) {
  const code = useRef<HTMLElement>(null);
  const pieces = useMemo(() => splitTokens(tokens ?? [{ text, classes: "" }], hit), [text, tokens, hit]);
  useLayoutEffect(() => {
    if (hit !== null) code.current?.querySelector("mark")?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [hit]);
  const pick = () => {
    const range = code.current === null ? null : selectedRange(code.current);
    onSelectRange?.(range?.anchor ?? text.length, range?.head ?? text.length);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on the cell does the same
    <pre className={styles.static} onClick={onSelectRange && pick}>
      <code ref={code}>
        {pieces.map((piece) =>
          piece.isHit ? (
            <mark key={piece.offset} className={`${styles.hit} ${piece.classes}`}>
              <VisibleText text={piece.text} />
            </mark>
          ) : (
            <span key={piece.offset} className={piece.classes || undefined}>
              <VisibleText text={piece.text} />
            </span>
          ),
        )}
        {"\n"}
      </code>
    </pre>
  );
});

/** Returns the range of the element's text that the user has selected; null if the selection is elsewhere. */
function selectedRange(element: HTMLElement): { anchor: number; head: number } | null {
  const selection = element.ownerDocument.getSelection();
  const anchor = textOffset(element, selection?.anchorNode ?? null, selection?.anchorOffset ?? 0);
  const head = textOffset(element, selection?.focusNode ?? null, selection?.focusOffset ?? 0);
  return anchor === null || head === null ? null : { anchor, head };
}

/**
 * Returns how many characters of the element's text precede a DOM position; null if the position is
 * outside of the element.
 */
function textOffset(element: HTMLElement, node: Node | null, offset: number): number | null {
  if (node === null || !element.contains(node)) return null;
  const before = element.ownerDocument.createRange();
  before.selectNodeContents(element);
  before.setEnd(node, offset);
  return before.toString().length;
}
