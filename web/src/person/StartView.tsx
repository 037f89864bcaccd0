import { useEffect, useState } from "react";
import { limitOfAttempt } from "../agentPanel/attempt";
import { CollapsibleVerdict } from "../agentPanel/CollapsibleVerdict";
import { oneLine } from "../text/displayText";
import { Button } from "../ui/Button";
import { durationAsClockText } from "../ui/useNow";
import styles from "./StartView.module.css";
import type { PersonWork } from "./usePersonWork";

interface Props {
  work: PersonWork;
  /** Why the attempt cannot be started; null if it can. */
  refusal: string | null;
  onStart: () => void;
}

/** Shown in place of the notebook until the person starts the attempt: the last verdict, what comes next, and a button. */
export function StartView({ work: { attempt, person, lastVerdict }, refusal, onStart }: Props) {
  const [isStarting, setIsStarting] = useState(false);
  useEffect(() => {
    if (refusal !== null) setIsStarting(false);
  }, [refusal]);
  const start = () => {
    setIsStarting(true);
    onStart();
  };
  if (attempt === null) return <p className={styles.loading}>Loading the case…</p>;
  const seconds = limitOfAttempt(attempt, "wall_s");
  return (
    <div className={styles.view}>
      {lastVerdict !== null && <CollapsibleVerdict {...lastVerdict} isPrevious={false} person={person} />}
      <section className={styles.next} aria-labelledby="next-case">
        <h2 id="next-case">
          {lastVerdict === null ? "Case" : "Next case:"} {oneLine(attempt.caseId, 80)}
        </h2>
        <p>
          The task is shown when you press Start, and the time begins then. Work in the notebook, and submit your answer
          beside it.
        </p>
        <dl className={styles.facts}>
          <div>
            <dt>Time</dt>
            <dd>{seconds === null ? "no limit" : durationAsClockText(seconds)}</dd>
          </div>
          <div>
            <dt>Recorded as</dt>
            <dd>{oneLine(person, 80)}</dd>
          </div>
        </dl>
        <Button
          variant="accent"
          className={styles.start ?? ""}
          disabled={refusal !== null || isStarting}
          onClick={start}
        >
          Start
        </Button>
        {refusal !== null && <p className={styles.refusal}>{refusal}</p>}
      </section>
    </div>
  );
}
