import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { Line } from "./line";
import { TerminalLine } from "./TerminalLine";
import styles from "./TerminalText.module.css";

interface Props {
  lines: readonly Line[];
  /** Length of `lines`. A separate prop, because the same list object grows, and its length would not trigger a render. */
  count: number;
  /** Name of the region for screen readers. */
  label: string;
}

/** Shows any number of lines in a scrolling box, and renders only the visible ones. */
export function VirtualLines({ lines, count, label }: Props) {
  const scroller = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => 19,
    overscan: 20,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable by keyboard
    <section ref={scroller} className={styles.window} aria-label={label} tabIndex={0}>
      <div className={styles.canvas} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className={styles.row}
              style={{ transform: `translateY(${start}px)` }}
            >
              <TerminalLine line={line} />
            </div>
          );
        })}
      </div>
    </section>
  );
}
