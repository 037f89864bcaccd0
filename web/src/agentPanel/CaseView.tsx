import { useState } from "react";
import { oneLine } from "../text/displayText";
import { clockText, secondsUntil, useNow } from "../ui/useNow";
import { type Attempt, limitOf } from "./attempt";
import styles from "./CaseView.module.css";
import { Fold } from "./Fold";
import { Limits } from "./Limits";
import { LongText } from "./LongText";

/** The attempt that goes on: its case, what it may take, and what it has taken. */
export function CaseView({ attempt }: { attempt: Attempt }) {
  const [open, setOpen] = useState(false);
  return (
    <section className={styles.case} aria-label="Case">
      <Fold
        name={`Case ${oneLine(attempt.caseId, 60)}`}
        gist={open ? "" : oneLine(attempt.task)}
        look="prose"
        aside={<WallClock attempt={attempt} />}
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <LongText text={attempt.task} />
        <Limits attempt={attempt} />
      </Fold>
    </section>
  );
}

/** Below this many seconds the clock warns. */
const soon = 60;

/** What is left of the wall time. */
function WallClock({ attempt }: { attempt: Attempt }) {
  const wall = limitOf(attempt, "wall_s");
  const { started } = attempt;
  const now = useNow(started !== null);
  if (started === null) return <span className={styles.clock}>not begun</span>;
  if (wall === null) return <span className={styles.clock}>{clockText((now - started) / 1000)}</span>;
  const left = Math.min(wall, secondsUntil(started + wall * 1000, now));
  return (
    <span className={left < soon ? styles.soon : styles.clock} role="timer">
      {clockText(left)} left
    </span>
  );
}
