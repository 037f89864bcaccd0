import { useState } from "react";
import { oneLine } from "../text/displayText";
import { durationAsClockText, secondsUntil, useNow } from "../ui/useNow";
import { type CurrentAttempt, limitOfAttempt } from "./attempt";
import styles from "./CaseView.module.css";
import { Collapsible } from "./Collapsible";
import { Limits } from "./Limits";
import { LongText } from "./LongText";

/** The current attempt: its case, limits and usage. */
export function CaseView({ attempt }: { attempt: CurrentAttempt }) {
  const [open, setOpen] = useState(false);
  return (
    <section className={styles.case} aria-label="Case">
      <Collapsible
        name={`Case ${oneLine(attempt.caseId, 60)}`}
        summary={open ? "" : oneLine(attempt.task)}
        summaryStyle="prose"
        trailing={<AttemptTimeLeft attempt={attempt} />}
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <LongText text={attempt.task} />
        <Limits attempt={attempt} />
      </Collapsible>
    </section>
  );
}

/** The remaining time of an attempt is highlighted if it is less than this many seconds. */
const warnBelowSeconds = 60;

/** Shows the attempt's remaining wall time, or the elapsed time if it has no limit. */
export function AttemptTimeLeft({ attempt }: { attempt: CurrentAttempt }) {
  const limitSeconds = limitOfAttempt(attempt, "wall_s");
  const { started } = attempt;
  const now = useNow(started !== null);
  if (started === null) return <span className={styles.clock}>not started</span>;
  if (limitSeconds === null) return <span className={styles.clock}>{durationAsClockText((now - started) / 1000)}</span>;
  const left = Math.min(limitSeconds, secondsUntil(started + limitSeconds * 1000, now));
  return (
    <span className={left < warnBelowSeconds ? styles.soon : styles.clock} role="timer">
      {durationAsClockText(left)} left
    </span>
  );
}
