import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import type { Line } from "./line";
import { TerminalLine } from "./TerminalLine";
import styles from "./TerminalText.module.css";

interface Props {
  lines: readonly Line[];
  /** How many of lines there are: the list itself stays the same one while it grows. */
  count: number;
  label: string;
}

/** Any number of lines in a box that scrolls: only those that are seen are drawn. */
export function LineWindow({ lines, count, label }: Props) {
  const scroller = useRef<HTMLElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => 19,
    overscan: 20,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
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
