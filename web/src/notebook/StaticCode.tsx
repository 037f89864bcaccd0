import { memo, useLayoutEffect, useMemo, useRef } from "react";
import styles from "./Code.module.css";
import { cutTokens } from "./cutTokens";
import type { Token } from "./editor/tokens";
import { PlainCode } from "./PlainCode";
import type { Hit } from "./view";

interface Props {
  text: string;
  /** null: it is shown plain, without colours. */
  tokens: readonly Token[] | null;
  hit: Hit | null;
  /** A person has clicked, or selected, this range of the text. */
  onPick?: ((anchor: number, head: number) => void) | undefined;
}

/** Code that is only shown, in the measures of the editor that may take its place. */
export const StaticCode = memo(function StaticCode({ text, tokens, hit, onPick }: Props) {
  const code = useRef<HTMLElement>(null);
  const pieces = useMemo(() => cutTokens(tokens ?? [{ text, classes: "" }], hit), [text, tokens, hit]);
  useLayoutEffect(() => {
    if (hit !== null) code.current?.querySelector("mark")?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [hit]);
  const pick = () => {
    const range = code.current === null ? null : selectedRange(code.current);
    onPick?.(range?.anchor ?? text.length, range?.head ?? text.length);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the cell takes Enter; a click is the same with a place
    <pre className={styles.static} onClick={onPick && pick}>
      <code ref={code}>
        {pieces.map((piece) =>
          piece.hit ? (
            <mark key={piece.at} className={`${styles.hit} ${piece.classes}`}>
              <PlainCode text={piece.text} />
            </mark>
          ) : (
            <span key={piece.at} className={piece.classes || undefined}>
              <PlainCode text={piece.text} />
            </span>
          ),
        )}
        {"\n"}
      </code>
    </pre>
  );
});

/** The range of the element's text that is selected; null: none of it is. */
function selectedRange(element: HTMLElement): { anchor: number; head: number } | null {
  const selection = element.ownerDocument.getSelection();
  const anchor = textOffset(element, selection?.anchorNode ?? null, selection?.anchorOffset ?? 0);
  const head = textOffset(element, selection?.focusNode ?? null, selection?.focusOffset ?? 0);
  return anchor === null || head === null ? null : { anchor, head };
}

/** How much text of the element stands before the place; null: the place is not in it. */
function textOffset(element: HTMLElement, node: Node | null, offset: number): number | null {
  if (node === null || !element.contains(node)) return null;
  const before = element.ownerDocument.createRange();
  before.selectNodeContents(element);
  before.setEnd(node, offset);
  return before.toString().length;
}
