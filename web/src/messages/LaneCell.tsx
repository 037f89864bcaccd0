import type { FlowEntry } from "./entry";
import { shortNameText } from "./entryTexts";
import styles from "./LaneCell.module.css";
import { arrowOfHop, laneMiddle, peerOfServer } from "./lanes";

/** Notes of entries that the server did not forward. */
const notForwardedNotes = new Set(["dropped", "late", "duplicate", "orphaned", "malformed"]);

/** Draws an entry as an arrow from the sender's lane to the receiver's, or as a mark on the server's lane. */
export function LaneCell({ entry }: { entry: FlowEntry }) {
  const arrow = arrowOfHop(entry.hop);
  if (arrow === null) {
    return (
      <div className={styles.lanes}>
        <span className={styles.note} style={{ left: `${laneMiddle("server") * 100}%` }}>
          {shortNameText(entry.hop) || "no entry"}
        </span>
      </div>
    );
  }
  const from = laneMiddle(arrow.from);
  const to = laneMiddle(arrow.to);
  const names = [
    styles.arrow,
    styles[peerOfServer(arrow)],
    to < from ? styles.back : "",
    notForwardedNotes.has(entry.note) ? styles.lost : "",
  ];
  const place = { left: `${Math.min(from, to) * 100}%`, width: `${Math.abs(to - from) * 100}%` };
  return (
    <div className={styles.lanes}>
      <span className={names.join(" ")} style={place} role="img" aria-label={`${arrow.from} to ${arrow.to}`} />
      {entry.conn !== null && arrow.from !== "agent" && (
        <span className={styles.conn} title={`Console ${entry.conn}`}>
          {entry.conn}
        </span>
      )}
    </div>
  );
}
