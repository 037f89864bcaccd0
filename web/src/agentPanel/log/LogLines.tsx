import { Fragment, memo, useLayoutEffect, useMemo, useRef } from "react";
import { CopyButton } from "../../outputs/CopyButton";
import { TerminalLine } from "../../outputs/terminal/TerminalLine";
import terminal from "../../outputs/terminal/TerminalText.module.css";
import { Terminal } from "../../outputs/terminal/terminal";
import styles from "./Log.module.css";
import { groupByProcess, type LogLine, type ProcessName } from "./processLogs";
import { useProcessLogs } from "./useProcessLogs";

/** The log counts as scrolled to its end within this distance in pixels. */
const endThresholdPx = 24;

/**
 * The last lines that a process has printed, with new lines as they arrive. Scrolls to new lines
 * while the view is at its end.
 */
export function LogLines({ session, processName }: { session: string; processName: ProcessName }) {
  const { logs, connected } = useProcessLogs(session);
  const lines = logs[processName];
  const groups = useMemo(() => groupByProcess(lines), [lines]);
  const scroller = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the process scrolls to the end
  useLayoutEffect(() => {
    isAtEnd.current = true;
  }, [processName]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are the trigger
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  const onScroll = () => {
    const element = scroller.current;
    if (element !== null)
      isAtEnd.current = element.scrollHeight - element.clientHeight - element.scrollTop <= endThresholdPx;
  };
  if (lines.length === 0) {
    return (
      <p className={styles.nothing}>
        {connected ? `No output from the ${processName} yet.` : "Disconnected. Reconnecting…"}
      </p>
    );
  }
  return (
    <div>
      <section
        ref={scroller}
        className={styles.lines}
        aria-label={`Log of the ${processName}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
        tabIndex={0}
        onScroll={onScroll}
      >
        {groups.map((part, index) => (
          <Fragment key={part[0]?.process}>
            {index > 0 && (
              <p className={styles.rule}>{`New ${processName} process${logTimeSuffix(part[0]?.at ?? null)}`}</p>
            )}
            <TerminalLines lines={part} />
          </Fragment>
        ))}
      </section>
      <div className={styles.foot}>
        <CopyButton text={() => lines.map(({ text }) => text).join("\n")} />
        {!connected && <span>Disconnected. Reconnecting…</span>}
      </div>
    </div>
  );
}

/** The output of one process, rendered as a terminal would. */
const TerminalLines = memo(function Part({ lines }: { lines: readonly LogLine[] }) {
  const screenLines = useMemo(() => {
    const screen = new Terminal();
    screen.write(lines.map(({ text }) => text).join("\n"));
    return screen.lines;
  }, [lines]);
  return (
    <div className={terminal.text}>
      {screenLines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines only get appended
        <TerminalLine key={index} line={line} />
      ))}
    </div>
  );
});

function logTimeSuffix(at: number | null): string {
  return at === null ? "" : `, ${new Date(at).toLocaleTimeString("en-GB")}`;
}
