import { memo } from "react";
import type { Line } from "./line";
import { StyledSegment } from "./StyledSegment";
import styles from "./TerminalText.module.css";

/** Shows one line of terminal text. Rendered again only if the line object changes. */
export const TerminalLine = memo(function TerminalLine({ line }: { line: Line }) {
  return (
    <div className={styles.line}>
      {line.segments.map((segment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: segments have no key but their position
        <StyledSegment key={index} segment={segment} />
      ))}
    </div>
  );
});
