import ArrowDown from "lucide-react/icons/arrow-down";
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useMemo } from "react";
import { Button } from "../ui/Button";
import { EntryRow } from "./EntryRow";
import type { FlowEntry } from "./entry";
import { pauseBeforeEntry } from "./entryTexts";
import styles from "./FrameList.module.css";
import type { FlowModel, FlowView } from "./flowModel";
import { ListHeading } from "./ListHeading";
import { lanesOf } from "./lanes";
import { linePartsOf, requestSpansOf, spansOverlapping } from "./requestSpans";
import { useScrolledRows } from "./useScrolledRows";

/** Height of a row in pixels. Must equal the height in FrameList.module.css. */
const rowHeight = 26;
const headingHeight = 30;

/** Number of rows drawn above and below the visible ones. */
const overscanRows = 8;

interface Props {
  model: FlowModel;
  view: FlowView;
  /** The trace still grows. */
  live: boolean;
  /** The row that the arrow keys start from. It is scrolled to when it changes. */
  active: number;
  /** Number of times the active row was set; 0: it was not. */
  moves: number;
  /** The selected entry; null: none. */
  selected: FlowEntry | null;
  onMove: (row: number) => void;
  onOpen: (row: number) => void;
}

/** A virtualised list of entries: only visible rows are drawn. */
export function EntryList({ model, view, live, active, moves, selected, onMove, onOpen }: Props) {
  const id = useId();
  const count = view.count ?? 0;
  const { scroller, geometry, onScroll, scrollToRow, scrollToEnd, rowsWhenLeftEnd } = useScrolledRows(
    count,
    rowHeight,
    headingHeight,
    live,
  );
  const { first: top, last: bottom } = geometry.rows;
  const first = Math.max(0, top - overscanRows);
  const last = Math.min(count - 1, bottom + overscanRows);
  const spans = useMemo(() => requestSpansOf(model.requests(), view.complete), [model, view]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new view means that pages were loaded or dropped
  useEffect(() => model.setVisibleRows(first, last), [model, view, first, last]);
  const toActive = useEffectEvent(() => {
    if (moves > 0 && active < count) scrollToRow(active);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls each time the active row is set
  useEffect(() => toActive(), [active, moves]);

  const page = Math.max(1, bottom - top);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const from = moves > 0 ? active : live ? bottom : top;
    const to = {
      ArrowUp: from - 1,
      ArrowDown: moves > 0 ? from + 1 : from,
      PageUp: from - page,
      PageDown: from + page,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (to !== undefined) onMove(Math.max(0, Math.min(count - 1, to)));
    else if (event.key === "Enter" && count > 0) onOpen(from);
    else return;
    event.preventDefault();
  };

  const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  const seen = rows.flatMap((row) => model.entryAt(row)?.seq ?? []);
  const near = spansOverlapping(spans, seen[0] ?? 0, seen.at(-1) ?? 0);
  const lanes = lanesOf(view.hasModelCalls);
  const lit = selected?.requests ?? [];
  return (
    <div className={view.hasModelCalls ? `${styles.list} ${styles.withModel}` : styles.list}>
      <div
        ref={scroller}
        role="listbox"
        aria-label="Messages"
        aria-activedescendant={active >= first && active <= last ? `${id}${active}` : undefined}
        tabIndex={0}
        className={styles.scroller}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const row = (event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row;
          if (row !== undefined) onOpen(Number(row));
        }}
      >
        <ListHeading lanes={lanes} />
        <div className={styles.sheet} style={{ height: geometry.height }} role="presentation">
          {rows.map((row) => {
            const entry = model.entryAt(row);
            if (entry === null) return <UnloadedRow key={row} row={row} place={geometry.rowTop(row)} />;
            const late = entry.note === "late" ? entry.requests.map((one) => model.requestAt(row, one)?.lateMs) : [];
            return (
              <EntryRow
                key={row}
                id={`${id}${row}`}
                row={row}
                count={count}
                topPx={geometry.rowTop(row)}
                entry={entry}
                lanes={lanes}
                ownRequest={entry.requests.includes(entry.seq) ? model.requestAt(row, entry.seq) : null}
                lateMs={late.find((ms) => ms !== null && ms !== undefined) ?? null}
                silenceMs={pauseBeforeEntry(row > 0 ? model.entryAt(row - 1) : null, entry)}
                lineParts={linePartsOf(near, entry, lit)}
                complete={view.complete}
                selected={entry.seq === selected?.seq}
                isRelated={entry.requests.some((one) => lit.includes(one))}
              />
            );
          })}
        </div>
      </div>
      {live && rowsWhenLeftEnd !== null && count > rowsWhenLeftEnd && (
        <Button variant="accent" className={styles.fresh ?? ""} onClick={scrollToEnd}>
          <ArrowDown size={14} aria-hidden="true" />
          {(count - rowsWhenLeftEnd).toLocaleString("en")} new
        </Button>
      )}
    </div>
  );
}

function UnloadedRow({ row, place }: { row: number; place: number }) {
  return (
    <div
      className={`${styles.row} ${styles.frame} ${styles.absent}`}
      style={{ transform: `translateY(${place}px)` }}
      aria-hidden="true"
      data-row={row}
    />
  );
}
