import { useState } from "react";
import { oneLine } from "../text/displayText";
import { clockText, secondsUntil, useNow } from "../ui/useNow";
import { type Attempt, limitOf } from "./attempt";
import styles from "./CaseView.module.css";
import { Collapsible } from "./Collapsible";
import { Limits } from "./Limits";
import { LongText } from "./LongText";

/** The current attempt: its case, limits and usage. */
export function CaseView({ attempt }: { attempt: Attempt }) {
  const [open, setOpen] = useState(false);
  return (
    <section className={styles.case} aria-label="Case">
      <Collapsible
        name={`Case ${oneLine(attempt.caseId, 60)}`}
        summary={open ? "" : oneLine(attempt.task)}
        summaryStyle="prose"
        trailing={<WallClock attempt={attempt} />}
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <LongText text={attempt.task} />
        <Limits attempt={attempt} />
      </Collapsible>
    </section>
  );
}

/** The clock is highlighted below this many seconds. */
const warnBelowSeconds = 60;

/** The remaining wall time, or the elapsed time if there is no limit. */
function WallClock({ attempt }: { attempt: Attempt }) {
  const limitSeconds = limitOf(attempt, "wall_s");
  const { started } = attempt;
  const now = useNow(started !== null);
  if (started === null) return <span className={styles.clock}>not started</span>;
  if (limitSeconds === null) return <span className={styles.clock}>{clockText((now - started) / 1000)}</span>;
  const left = Math.min(limitSeconds, secondsUntil(started + limitSeconds * 1000, now));
  return (
    <span className={left < warnBelowSeconds ? styles.soon : styles.clock} role="timer">
      {clockText(left)} left
    </span>
  );
}
