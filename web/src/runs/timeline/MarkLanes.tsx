import { memo } from "react";
import { type MarkLane, markLanes, type TimelineMark } from "./mark";
import styles from "./TimelineBar.module.css";

const laneColumns = 600;
const laneHeight = 6;

/** Draws the marks of a trace, each kind on a separate lane. */
export const MarkLanes = memo(function MarkLanes({ marks, end }: { marks: readonly TimelineMark[]; end: number }) {
  return (
    <svg
      className={styles.lanes}
      viewBox={`0 0 ${laneColumns} ${markLanes.length * laneHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {markLanes.map((lane, row) => (
        <path key={lane} className={styles[lane]} d={svgPathOfMarks(marks, lane, row * laneHeight, end)} />
      ))}
    </svg>
  );
});

/** Returns the SVG path of a lane of marks: one stroke for each pixel column that has any mark. */
function svgPathOfMarks(marks: readonly TimelineMark[], lane: MarkLane, top: number, end: number): string {
  const drawn = new Set<number>();
  for (const mark of marks) {
    if (mark.lane === lane) drawn.add(Math.round(((mark.seq - 1) / Math.max(1, end - 1)) * laneColumns));
  }
  return [...drawn].map((x) => `M${x} ${top + 1}v${laneHeight - 2}`).join("");
}
