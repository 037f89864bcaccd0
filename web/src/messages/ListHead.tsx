import styles from "./FrameList.module.css";
import { type Lane, lanes } from "./lanes";

/** Their names where there is little room. */
const short: Readonly<Record<Lane, string>> = { console: "con", agent: "agt", server: "srv", kernel: "krn" };

/** The names of the columns and lanes, for the eye: each row says all that it is. */
export function ListHead() {
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
            <span className={styles.short}>{short[lane]}</span>
          </span>
        ))}
      </span>
      <span className={styles.what}>Message</span>
      <span className={styles.size}>Size</span>
    </div>
  );
}
