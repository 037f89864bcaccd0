import { useState } from "react";
import { formatAttemptTime } from "../../format/format";
import { seqAt } from "../timeline/mark";
import type { Travel } from "../timeline/travel";
import { useMoment } from "../timeline/useTravel";
import styles from "./Compare.module.css";

const steps = 1000;

/** One slider for two traces: both as they were when the same time had passed since they began. */
export function SharedTime({ travels }: { travels: readonly [Travel, Travel] }) {
  const [at, setAt] = useState(steps);
  const [a, b] = [useMoment(travels[0]), useMoment(travels[1])];
  const longest = Math.max(a.marks.at(-1)?.ms ?? 0, b.marks.at(-1)?.ms ?? 0);
  const onChange = (step: number) => {
    setAt(step);
    const ms = (longest * step) / steps;
    for (const travel of travels) travel.goTo(step === steps ? "end" : seqAt(travel.get().marks, ms));
  };
  const said = at === steps ? "at the end" : formatAttemptTime((longest * at) / steps);
  return (
    <section className={styles.time} aria-label="Time">
      <label>
        Time since the beginning
        <input
          type="range"
          min={0}
          max={steps}
          value={at}
          aria-valuetext={said}
          onChange={(event) => onChange(Number(event.target.value))}
        />
      </label>
      <span>{said}</span>
      {[a, b].map(
        (moment, side) =>
          moment.problem !== null && (
            // biome-ignore lint/suspicious/noArrayIndexKey: there are two sides
            <p key={side} role="alert" className={styles.problem}>
              {`${side === 0 ? "A" : "B"}: ${moment.problem}`}
            </p>
          ),
      )}
    </section>
  );
}
