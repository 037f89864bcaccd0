import { Fragment, memo } from "react";
import styles from "./Code.module.css";
import { codePointNames, splitAtSpecialCharacters } from "./specialCharacters";

/** Text in which each invisible character is shown as a dot with its code point in a tooltip. */
export const VisibleText = memo(function PlainCode({ text }: { text: string }) {
  const pieces = splitAtSpecialCharacters(text);
  if (pieces.every((piece) => !piece.special)) return text;
  let at = 0;
  return pieces.map((piece) => {
    const key = at;
    at += piece.text.length;
    if (!piece.special) return <Fragment key={key}>{piece.text}</Fragment>;
    return (
      <span key={key} className={styles.special} title={codePointNames(piece.text)}>
        {"•".repeat(piece.text.length)}
      </span>
    );
  });
});
