import { memo } from "react";
import { formatBytes } from "../format/format";
import type { FlowEntry, FlowRequest } from "./entry";
import { delayText, entrySubjectText, shortIdText, shortNameText, traceTimeText } from "./entryTexts";
import styles from "./FrameList.module.css";
import { LaneCell } from "./LaneCell";
import type { Lane } from "./lanes";
import { OddityMark } from "./OddityMark";
import { oddityOfNote, oddityOfRequest } from "./oddity";
import { PauseMark } from "./PauseMark";
import { RequestLines } from "./RequestLines";
import { RequestResult } from "./RequestResult";
import { isSameLineParts, type RequestLinePart } from "./requestSpans";

interface Props {
  /** Id of the element, for aria-activedescendant. */
  id: string;
  row: number;
  /** Number of rows. */
  count: number;
  /** Offset from the top of the list, in pixels. */
  topPx: number;
  entry: FlowEntry;
  lanes: readonly Lane[];
  /** The request that begins with this entry; null: none. */
  ownRequest: FlowRequest | null;
  /** How late a late reply was, in milliseconds; null: not late. */
  lateMs: number | null;
  /** Milliseconds since the previous entry; null: not long. */
  silenceMs: number | null;
  lineParts: readonly RequestLinePart[];
  complete: boolean;
  selected: boolean;
  /** Belongs to a request of the selected entry. */
  isRelated: boolean;
}

/** One entry: time, direction, message and result. */
function EntryRowView({
  id,
  row,
  count,
  topPx,
  entry,
  lanes,
  ownRequest,
  lateMs,
  silenceMs,
  lineParts,
  complete,
  selected,
  isRelated,
}: Props) {
  const note = oddityOfNote(entry.note);
  const fault = ownRequest === null ? null : oddityOfRequest(ownRequest, complete);
  const saidByDelay = ownRequest !== null && (note?.label === fault?.label || note?.icon === "intercepted");
  const about = entrySubjectText(entry);
  const names = [styles.row, styles.frame, selected ? styles.selected : "", isRelated ? styles.kin : ""];
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its active row
    <div
      id={id}
      role="option"
      aria-posinset={row + 1}
      aria-setsize={count}
      aria-selected={selected}
      data-row={row}
      className={names.join(" ")}
      style={{ transform: `translateY(${topPx}px)` }}
    >
      <RequestLines strokes={lineParts} />
      <span className={styles.seq}>
        <span className="visually-hidden">entry </span>
        {entry.seq}
      </span>
      <span className={styles.time}>{traceTimeText(entry.ms)}</span>
      <PauseMark ms={silenceMs} />
      <LaneCell entry={entry} lanes={lanes} />
      <span className={styles.what}>
        <span className={styles.label}>
          <b className={styles.type}>{shortNameText(entry.type) || "no message"}</b>
          {about !== "" && ` ${about}`}
          {(entry.txId || entry.cellId) !== "" && (
            <span className={styles.id}>{` ${shortIdText(entry.txId || entry.cellId)}`}</span>
          )}
        </span>
        {note !== null && !saidByDelay && (
          <OddityMark oddity={note} more={lateMs === null ? "" : ` by ${delayText(lateMs)}`} />
        )}
        {ownRequest !== null && <RequestResult request={ownRequest} askedMs={entry.ms} complete={complete} />}
      </span>
      <span className={styles.size}>{formatBytes(entry.bytes)}</span>
    </div>
  );
}

/** A row of the list of messages: time, direction, type and result of one entry. */
export const EntryRow = memo(EntryRowView, ({ lineParts: a, ...before }, { lineParts: b, ...after }) => {
  const keys = Object.keys(after) as (keyof typeof after)[];
  return keys.every((key) => Object.is(before[key], after[key])) && isSameLineParts(a, b);
});
