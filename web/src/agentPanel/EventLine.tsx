import Dot from "lucide-react/icons/dot";
import TriangleAlert from "lucide-react/icons/triangle-exclamation-point";
import { formatDuration } from "../format/format";
import { anyObject, number, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { showInvisible } from "../text/displayText";
import { secondsUntil, useNow } from "../ui/useNow";
import styles from "./EventLine.module.css";
import { describeEvent } from "./eventDescription";

interface Props {
  event: string;
  text: string;
  metadata: Readonly<Record<string, unknown>>;
  /** Whether nothing has come after the event and more may: what it waits for is not over. */
  pending: boolean;
}

/** Shows one event of the agent, such as a retry, as a line of the conversation. */
export function EventLine({ event, text, metadata, pending }: Props) {
  const { title, detail, isWarning } = describeEvent(event, text, metadata);
  const wait = event === "retry" ? (number.parse(read(anyObject, metadata).wait_ms) ?? null) : null;
  return (
    <p className={styles.line}>
      {isWarning ? <TriangleAlert className={styles.warn} aria-hidden="true" /> : <Dot aria-hidden="true" />}
      <span>
        <span className={styles.event}>{title}</span>
        {detail !== "" && `: ${detail}`}
        {wait !== null && <RetryCountdown event={metadata} delayMs={wait} pending={pending} />}
      </span>
    </p>
  );
}

/** When each retry event was first rendered, in milliseconds since 1970: retry events carry no time. */
const retryFirstRenderedAt = new WeakMap<object, number>();

interface RetryProps {
  /** The metadata object of the event, which identifies it. */
  event: object;
  /** The delay before the retry, in milliseconds. */
  delayMs: number;
  /** Whether the delay is not over. */
  pending: boolean;
}

/** Counts down to the retry of a model call; after that shows how long the delay was. */
export function RetryCountdown({ event, delayMs, pending }: RetryProps) {
  const now = useNow(pending);
  if (!pending) return <>, retried after {formatDuration(delayMs)}</>;
  const start = retryFirstRenderedAt.get(event) ?? now;
  retryFirstRenderedAt.set(event, start);
  const secondsLeft = secondsUntil(start + delayMs, now);
  return <>{secondsLeft > 0 ? `, retry in ${secondsLeft} s` : ", retrying now"}</>;
}

/** Number of characters of an error that are shown. */
const maxErrorChars = 20_000;

/** An error that the agent reported. */
export function AgentErrorLine({ text, fatal }: { text: string; fatal: boolean }) {
  return (
    <div className={styles.error}>
      <TriangleAlert aria-hidden="true" />
      <div className={styles.errorText}>
        <strong>{fatal ? "The agent stopped" : "The agent had an error"}</strong>
        <pre>{showInvisible(textOrJSON(text).slice(0, maxErrorChars)) || "No details."}</pre>
      </div>
    </div>
  );
}
