import { memo } from "react";
import { formatBytes } from "../format/format";
import { Delay } from "./Delay";
import type { FlowEntry, FlowRequest } from "./entry";
import styles from "./FrameList.module.css";
import { LaneCell } from "./LaneCell";
import { Mark } from "./Mark";
import { faultOf, noteOf } from "./oddity";
import { Silence } from "./Silence";
import { TrackCell } from "./TrackCell";
import { type Stroke, sameStrokes } from "./tracks";
import { aboutText, delayText, idText, nameText, timeText } from "./words";

interface Props {
  /** Of the element, for aria-activedescendant. */
  id: string;
  row: number;
  /** How many rows there are. */
  count: number;
  /** Where it stands, in pixels. */
  place: number;
  entry: FlowEntry;
  /** The request that begins here; null: none does. */
  own: FlowRequest | null;
  /** A reply that came too late is so much too late, in milliseconds. */
  lateMs: number | null;
  /** How long nothing had happened before, in milliseconds; null: not long. */
  silence: number | null;
  strokes: readonly Stroke[];
  complete: boolean;
  selected: boolean;
  /** It is part of a request that is selected. */
  kin: boolean;
}

/** One entry: when, from whom to whom, what, and what it came to. */
function Row({ id, row, count, place, entry, own, lateMs, silence, strokes, complete, selected, kin }: Props) {
  const note = noteOf(entry.note);
  const fault = own === null ? null : faultOf(own, complete);
  const saidByDelay = own !== null && (note?.word === fault?.word || note?.icon === "intercepted");
  const about = aboutText(entry);
  const names = [styles.row, styles.frame, selected ? styles.selected : "", kin ? styles.kin : ""];
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, and names its active row
    <div
      id={id}
      role="option"
      aria-posinset={row + 1}
      aria-setsize={count}
      aria-selected={selected}
      data-row={row}
      className={names.join(" ")}
      style={{ transform: `translateY(${place}px)` }}
    >
      <TrackCell strokes={strokes} />
      <span className={styles.seq}>
        <span className="visually-hidden">entry </span>
        {entry.seq}
      </span>
      <span className={styles.time}>{timeText(entry.ms)}</span>
      <Silence ms={silence} />
      <LaneCell entry={entry} />
      <span className={styles.what}>
        <span className={styles.label}>
          <b className={styles.type}>{nameText(entry.type) || "no message"}</b>
          {about !== "" && ` ${about}`}
          {(entry.txId || entry.cellId) !== "" && (
            <span className={styles.id}>{` ${idText(entry.txId || entry.cellId)}`}</span>
          )}
        </span>
        {note !== null && !saidByDelay && (
          <Mark oddity={note} more={lateMs === null ? "" : ` by ${delayText(lateMs)}`} />
        )}
        {own !== null && <Delay request={own} askedMs={entry.ms} complete={complete} />}
      </span>
      <span className={styles.size}>{formatBytes(entry.bytes)}</span>
    </div>
  );
}

export const FrameRow = memo(Row, ({ strokes: a, ...before }, { strokes: b, ...after }) => {
  const keys = Object.keys(after) as (keyof typeof after)[];
  return keys.every((key) => Object.is(before[key], after[key])) && sameStrokes(a, b);
});
