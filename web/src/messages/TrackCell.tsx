import styles from "./TrackCell.module.css";
import type { Stroke } from "./tracks";

const apart = 8;

/** The lines in the margin that join a request with its answer. */
export function TrackCell({ strokes }: { strokes: readonly Stroke[] }) {
  return (
    <span className={styles.tracks} aria-hidden="true">
      {strokes.map(({ track, part, tone, lit }) => (
        <span
          key={track}
          className={`${styles.stroke} ${styles[part]} ${styles[tone]} ${lit ? styles.lit : ""}`}
          style={{ left: 4 + track * apart }}
        />
      ))}
    </span>
  );
}
