import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { attemptPath } from "../../routes/paths";
import type { Attempt } from "../data/attempt";
import type { SortColumn, SortOrder } from "../data/filter";
import { AttemptRow } from "./AttemptRow";
import styles from "./AttemptTable.module.css";

const rowHeight = 32;

interface Props {
  run: string;
  attempts: readonly Attempt[];
  order: SortOrder;
  onOrder: (order: SortOrder) => void;
  /** Names of the attempts selected for comparison. */
  chosen: readonly string[];
  onChoose: (name: string) => void;
}

const attemptColumns: readonly { id: SortColumn; label: string; number?: boolean }[] = [
  { id: "case", label: "Case" },
  { id: "epoch", label: "Epoch" },
  { id: "verdict", label: "Verdict" },
  { id: "outcome", label: "Outcome" },
  { id: "score", label: "Score", number: true },
  { id: "duration", label: "Duration", number: true },
  { id: "turns", label: "Turns / actions", number: true },
  { id: "tokens", label: "Tokens", number: true },
  { id: "cost", label: "Cost", number: true },
  { id: "tamper", label: "Tamper", number: true },
];

/** The virtualised table of a run's attempts. */
export function AttemptTable({ run, attempts, order, onOrder, chosen, onChoose }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const [, navigate] = useLocation();
  const rows = useVirtualizer({
    count: attempts.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const at = Math.min(current, attempts.length - 1);
  const focusing = useRef(false);
  const go = (to: number) => {
    const next = Math.max(0, Math.min(attempts.length - 1, to));
    setCurrent(next);
    rows.scrollToIndex(next);
    focusing.current = true;
  };
  useEffect(() => {
    if (!focusing.current) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${at}"]`);
    if (!row) return; // it is drawn after the table has scrolled
    focusing.current = false;
    row.focus();
  });
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (!(event.target instanceof HTMLTableRowElement)) return;
    // The row's index now: new attempts may have moved it down.
    const row = Number(event.target.dataset.row);
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowDown: row + 1,
      ArrowUp: row - 1,
      PageDown: row + page,
      PageUp: row - page,
      Home: 0,
      End: attempts.length - 1,
    };
    const attempt = attempts[row];
    const to = steps[event.key];
    if (to !== undefined) go(to);
    else if (event.key === "Enter" && attempt && attempt.name !== "") navigate(attemptPath(run, attempt.name));
    else if (event.key === " " && attempt && attempt.name !== "") onChoose(attempt.name);
    else return;
    event.preventDefault();
  };
  const drawn = rows.getVirtualItems();
  return (
    <div ref={scroller} className={styles.scroller}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows are navigated and selected by keyboard
        role="grid"
        className={styles.table}
        aria-label="Attempts"
        aria-rowcount={attempts.length + 1}
        aria-multiselectable="true"
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr>
            <th scope="col" className={styles.choose}>
              <span className="visually-hidden">Chosen</span>
            </th>
            {attemptColumns.map(({ id, label, number }) => (
              <th
                key={id}
                scope="col"
                className={number ? styles.number : ""}
                aria-sort={order.by !== id ? "none" : order.descending ? "descending" : "ascending"}
              >
                <button type="button" onClick={() => onOrder(nextSortOrder(order, id))}>
                  {label}
                  <span aria-hidden="true">{order.by !== id ? "" : order.descending ? " ↓" : " ↑"}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <SpacerRow height={drawn[0]?.start ?? 0} />
          {drawn.map(({ index }) => {
            const attempt = attempts[index];
            return (
              attempt && (
                <AttemptRow
                  key={`${attempt.n} ${attempt.name}`}
                  run={run}
                  attempt={attempt}
                  row={index}
                  current={index === at}
                  chosen={chosen.includes(attempt.name) && attempt.name !== ""}
                  onFocus={setCurrent}
                  onChoose={onChoose}
                />
              )
            );
          })}
          <SpacerRow height={rows.getTotalSize() - (drawn.at(-1)?.end ?? 0)} />
        </tbody>
      </table>
    </div>
  );
}

/** An empty table row of a height in pixels that takes the place of rows that are not drawn. */
function SpacerRow({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it has no tabindex, nothing focuses it
    <tr aria-hidden="true">
      <td colSpan={attemptColumns.length + 1} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}

/** Returns the sort order after a click on a column's heading: ascending, then descending, then unsorted. */
function nextSortOrder(order: SortOrder, by: SortColumn): SortOrder {
  if (order.by !== by) return { by, descending: false };
  return order.descending ? { by: null, descending: false } : { by, descending: true };
}
