import { Dot, TriangleAlert } from "lucide-react";
import { anyObject, number, read } from "../json/schema";
import styles from "./EventLine.module.css";
import { eventWords } from "./eventWords";
import { RetryCountdown } from "./RetryCountdown";

interface Props {
  event: string;
  text: string;
  metadata: Readonly<Record<string, unknown>>;
  /** Nothing has come after it, and more may: what it waits for is still waited for. */
  pending: boolean;
}

/** Something that happened to the agent, in a quiet line. */
export function EventLine({ event, text, metadata, pending }: Props) {
  const { what, more, warn } = eventWords(event, text, metadata);
  const wait = event === "retry" ? (number.parse(read(anyObject, metadata).wait_ms) ?? null) : null;
  return (
    <p className={styles.line}>
      {warn ? <TriangleAlert className={styles.warn} aria-hidden="true" /> : <Dot aria-hidden="true" />}
      <span>
        <span className={styles.event}>{what}</span>
        {more !== "" && `: ${more}`}
        {wait !== null && <RetryCountdown of={metadata} wait={wait} pending={pending} />}
      </span>
    </p>
  );
}
