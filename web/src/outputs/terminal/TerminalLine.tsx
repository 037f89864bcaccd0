import { memo } from "react";
import type { Line } from "./line";
import { Styled } from "./Styled";
import styles from "./TerminalText.module.css";

/** One line; drawn again only when it is another one. */
export const TerminalLine = memo(function TerminalLine({ line }: { line: Line }) {
  return (
    <div className={styles.line}>
      {line.segments.map((segment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a segment has nothing but its place
        <Styled key={index} segment={segment} />
      ))}
    </div>
  );
});
