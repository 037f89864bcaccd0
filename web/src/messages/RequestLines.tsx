import type { RequestLinePart } from "./requestSpans";
import styles from "./TrackCell.module.css";

const lineSpacingPx = 8;

/** Draws the vertical lines in the margin that connect the entries of a request. */
export function RequestLines({ strokes }: { strokes: readonly RequestLinePart[] }) {
  return (
    <span className={styles.tracks} aria-hidden="true">
      {strokes.map(({ track, part, tone, isHighlighted }) => (
        <span
          key={track}
          className={`${styles.stroke} ${styles[part]} ${styles[tone]} ${isHighlighted ? styles.lit : ""}`}
          style={{ left: 4 + track * lineSpacingPx }}
        />
      ))}
    </span>
  );
}
