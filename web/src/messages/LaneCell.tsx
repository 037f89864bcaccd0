import type { FlowEntry } from "./entry";
import styles from "./LaneCell.module.css";
import { arrowOf, middleOf, peerOf } from "./lanes";
import { nameText } from "./words";

/** Notes of entries that went no further. */
const lost = new Set(["dropped", "late", "duplicate", "orphaned", "malformed"]);

/** The arrow of an entry between the lanes, or its place on the server's. */
export function LaneCell({ entry }: { entry: FlowEntry }) {
  const arrow = arrowOf(entry.hop);
  if (arrow === null) {
    return (
      <div className={styles.lanes}>
        <span className={styles.note} style={{ left: `${middleOf("server") * 100}%` }}>
          {nameText(entry.hop) || "no entry"}
        </span>
      </div>
    );
  }
  const from = middleOf(arrow.from);
  const to = middleOf(arrow.to);
  const names = [
    styles.arrow,
    styles[peerOf(arrow)],
    to < from ? styles.back : "",
    lost.has(entry.note) ? styles.lost : "",
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
