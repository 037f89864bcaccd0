import { memo } from "react";
import { type Lane, lanes, type Mark } from "./mark";
import styles from "./TravelBar.module.css";

const columns = 600;
const laneHeight = 6;

/** Where in a trace something of note happened, one lane for each kind. */
export const MarkLanes = memo(function MarkLanes({ marks, end }: { marks: readonly Mark[]; end: number }) {
  return (
    <svg
      className={styles.lanes}
      viewBox={`0 0 ${columns} ${lanes.length * laneHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {lanes.map((lane, row) => (
        <path key={lane} className={styles[lane]} d={pathOf(marks, lane, row * laneHeight, end)} />
      ))}
    </svg>
  );
});

/** A stroke for each column in which the lane has a mark, however many it has there. */
function pathOf(marks: readonly Mark[], lane: Lane, top: number, end: number): string {
  const drawn = new Set<number>();
  for (const mark of marks) {
    if (mark.lane === lane) drawn.add(Math.round(((mark.seq - 1) / Math.max(1, end - 1)) * columns));
  }
  return [...drawn].map((x) => `M${x} ${top + 1}v${laneHeight - 2}`).join("");
}
