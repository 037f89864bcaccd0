import ArrowDown from "lucide-react/icons/arrow-down";
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useMemo } from "react";
import { Button } from "../ui/Button";
import type { FlowEntry } from "./entry";
import styles from "./FrameList.module.css";
import { FrameRow } from "./FrameRow";
import { ListHead } from "./ListHead";
import type { FlowModel, FlowView } from "./model";
import { spansOf, spansWithin, strokesOf } from "./tracks";
import { useRows } from "./useRows";
import { silenceMs } from "./words";

/** In pixels, as FrameList.module.css has them. */
const rowHeight = 26;
const headHeight = 30;

/** Rows that are drawn above and below those that are seen. */
const overscan = 8;

interface Props {
  model: FlowModel;
  view: FlowView;
  /** It is followed as it grows. */
  live: boolean;
  /** The row that the keys move from, which is scrolled to when one goes there. */
  active: number;
  /** How often one has gone to a row; 0: the active one is not chosen. */
  moves: number;
  /** The entry that is selected; null: none is. */
  selected: FlowEntry | null;
  onMove: (row: number) => void;
  onOpen: (row: number) => void;
}

/** The entries from top to bottom. Only those that are seen are drawn. */
export function FrameList({ model, view, live, active, moves, selected, onMove, onOpen }: Props) {
  const id = useId();
  const count = view.count ?? 0;
  const { scroller, geometry, onScroll, show, toEnd, left } = useRows(count, rowHeight, headHeight, live);
  const { first: top, last: bottom } = geometry.rows;
  const first = Math.max(0, top - overscan);
  const last = Math.min(count - 1, bottom + overscan);
  const spans = useMemo(() => spansOf(model.requests(), view.complete), [model, view]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is here, and is not any more, view says
  useEffect(() => model.want(first, last), [model, view, first, last]);
  const toActive = useEffectEvent(() => {
    if (moves > 0 && active < count) show(active);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a row is shown each time one goes there
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
  const near = spansWithin(spans, seen[0] ?? 0, seen.at(-1) ?? 0);
  const lit = selected?.requests ?? [];
  return (
    <div className={styles.list}>
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
        <ListHead />
        <div className={styles.sheet} style={{ height: geometry.height }} role="presentation">
          {rows.map((row) => {
            const entry = model.entryAt(row);
            if (entry === null) return <Placeholder key={row} row={row} place={geometry.placeOf(row)} />;
            const late = entry.note === "late" ? entry.requests.map((one) => model.requestAt(row, one)?.lateMs) : [];
            return (
              <FrameRow
                key={row}
                id={`${id}${row}`}
                row={row}
                count={count}
                place={geometry.placeOf(row)}
                entry={entry}
                own={entry.requests.includes(entry.seq) ? model.requestAt(row, entry.seq) : null}
                lateMs={late.find((ms) => ms !== null && ms !== undefined) ?? null}
                silence={silenceMs(row > 0 ? model.entryAt(row - 1) : null, entry)}
                strokes={strokesOf(near, entry, lit)}
                complete={view.complete}
                selected={entry.seq === selected?.seq}
                kin={entry.requests.some((one) => lit.includes(one))}
              />
            );
          })}
        </div>
      </div>
      {live && left !== null && count > left && (
        <Button variant="accent" className={styles.fresh ?? ""} onClick={toEnd}>
          <ArrowDown size={14} aria-hidden="true" />
          {(count - left).toLocaleString("en")} new
        </Button>
      )}
    </div>
  );
}

function Placeholder({ row, place }: { row: number; place: number }) {
  return (
    <div
      className={`${styles.row} ${styles.frame} ${styles.absent}`}
      style={{ transform: `translateY(${place}px)` }}
      aria-hidden="true"
      data-row={row}
    />
  );
}
