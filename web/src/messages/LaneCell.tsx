import type { FlowEntry } from "./entry";
import { shortNameText } from "./entryTexts";
import styles from "./LaneCell.module.css";
import { arrowOfHop, colourOfArrow, type Lane, laneMiddle } from "./lanes";

/** Notes of entries that the server did not forward. */
const notForwardedNotes = new Set(["dropped", "late", "duplicate", "orphaned", "malformed"]);

/** Draws an entry as an arrow from the sender's lane to the receiver's, or as a mark on the server's lane. */
export function LaneCell({ entry, lanes }: { entry: FlowEntry; lanes: readonly Lane[] }) {
  const arrow = arrowOfHop(entry.hop, lanes);
  const lines = lanes.includes("model") ? `${styles.lanes} ${styles.five}` : styles.lanes;
  if (arrow === null) {
    return (
      <div className={lines}>
        <span className={styles.note} style={{ left: `${laneMiddle("server", lanes) * 100}%` }}>
          {shortNameText(entry.hop) || "no entry"}
        </span>
      </div>
    );
  }
  const from = laneMiddle(arrow.from, lanes);
  const to = laneMiddle(arrow.to, lanes);
  const names = [
    styles.arrow,
    styles[colourOfArrow(arrow)],
    to < from ? styles.back : "",
    notForwardedNotes.has(entry.note) ? styles.lost : "",
  ];
  const place = { left: `${Math.min(from, to) * 100}%`, width: `${Math.abs(to - from) * 100}%` };
  return (
    <div className={lines}>
      <span className={names.join(" ")} style={place} role="img" aria-label={`${arrow.from} to ${arrow.to}`} />
      {entry.conn !== null && arrow.from !== "agent" && (
        <span className={styles.conn} title={`Console ${entry.conn}`}>
          {entry.conn}
        </span>
      )}
    </div>
  );
}
