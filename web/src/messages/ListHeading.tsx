import styles from "./FrameList.module.css";
import type { Lane } from "./lanes";

/** Lane names for narrow windows. */
const shortLaneNames: Readonly<Record<Lane, string>> = {
  console: "con",
  model: "mdl",
  agent: "agt",
  server: "srv",
  kernel: "krn",
};

/** The column and lane headings. Hidden from screen readers, because each row names its parts. */
export function ListHeading({ lanes }: { lanes: readonly Lane[] }) {
  return (
    <div className={`${styles.row} ${styles.head}`} aria-hidden="true">
      <span />
      <span className={styles.seq}>Entry</span>
      <span className={styles.time}>Seconds</span>
      <span className={styles.gap} />
      <span className={styles.names}>
        {lanes.map((lane) => (
          <span key={lane} className={styles[lane]}>
            <span className={styles.full}>{lane}</span>
            <span className={styles.short}>{shortLaneNames[lane]}</span>
          </span>
        ))}
      </span>
      <span className={styles.what}>Message</span>
      <span className={styles.size}>Size</span>
    </div>
  );
}
