import { Fragment, memo } from "react";
import styles from "./Code.module.css";
import { specialNames, specialPieces } from "./specials";

/** Text in which characters that cannot be seen can be: each as a dot that says what it is. */
export const PlainCode = memo(function PlainCode({ text }: { text: string }) {
  const pieces = specialPieces(text);
  if (pieces.every((piece) => !piece.special)) return text;
  let at = 0;
  return pieces.map((piece) => {
    const key = at;
    at += piece.text.length;
    if (!piece.special) return <Fragment key={key}>{piece.text}</Fragment>;
    return (
      <span key={key} className={styles.special} title={specialNames(piece.text)}>
        {"•".repeat(piece.text.length)}
      </span>
    );
  });
});
