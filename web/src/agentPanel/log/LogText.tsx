import { Fragment, memo, useLayoutEffect, useMemo, useRef } from "react";
import { CopyButton } from "../../outputs/CopyButton";
import { TerminalLine } from "../../outputs/terminal/TerminalLine";
import terminal from "../../outputs/terminal/TerminalText.module.css";
import { Terminal } from "../../outputs/terminal/terminal";
import styles from "./Log.module.css";
import { byProcess, type Child, type PrintedLine } from "./printed";
import { usePrinted } from "./usePrinted";

/** How near the end one must be to be taken along, in pixels. */
const nearEnd = 24;

/** The last lines that a child has printed, and on as they come. */
export function LogText({ session, child }: { session: string; child: Child }) {
  const { printed, connected } = usePrinted(session);
  const lines = printed[child];
  const parts = useMemo(() => byProcess(lines), [lines]);
  const scroller = useRef<HTMLElement>(null);
  const following = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it goes to the end of what is shown
  useLayoutEffect(() => {
    following.current = true;
  }, [child]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever there is more
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && following.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  const onScroll = () => {
    const at = scroller.current;
    if (at !== null) following.current = at.scrollHeight - at.clientHeight - at.scrollTop <= nearEnd;
  };
  if (lines.length === 0) {
    return (
      <p className={styles.nothing}>
        {connected ? `The ${child} has printed nothing.` : "The log is not connected. It is tried again."}
      </p>
    );
  }
  return (
    <div>
      <section
        ref={scroller}
        className={styles.lines}
        aria-label={`What the ${child} printed`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        onScroll={onScroll}
      >
        {parts.map((part, index) => (
          <Fragment key={part[0]?.process}>
            {index > 0 && <p className={styles.rule}>{`Another ${child}${timeWords(part[0]?.at ?? null)}`}</p>}
            <Part lines={part} />
          </Fragment>
        ))}
      </section>
      <div className={styles.foot}>
        <CopyButton text={() => lines.map(({ text }) => text).join("\n")} />
        {!connected && <span>The log is not connected. It is tried again.</span>}
      </div>
    </div>
  );
}

/** What one process has printed, as a terminal shows it. */
const Part = memo(function Part({ lines }: { lines: readonly PrintedLine[] }) {
  const shown = useMemo(() => {
    const screen = new Terminal();
    screen.write(lines.map(({ text }) => text).join("\n"));
    return screen.lines;
  }, [lines]);
  return (
    <div className={terminal.text}>
      {shown.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
        <TerminalLine key={index} line={line} />
      ))}
    </div>
  );
});

function timeWords(at: number | null): string {
  return at === null ? "" : `, ${new Date(at).toLocaleTimeString("en-GB")}`;
}
