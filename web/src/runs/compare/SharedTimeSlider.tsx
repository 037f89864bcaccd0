import { useState } from "react";
import { formatAttemptTime } from "../../format/format";
import { seqAtTime } from "../timeline/mark";
import type { Timeline } from "../timeline/timeline";
import { useTimelineState } from "../timeline/useTimeline";
import styles from "./Compare.module.css";

const sliderSteps = 1000;

/** A slider that moves two timelines to the same time after the start of their traces. */
export function SharedTimeSlider({ timelines }: { timelines: readonly [Timeline, Timeline] }) {
  const [at, setAt] = useState(sliderSteps);
  const [a, b] = [useTimelineState(timelines[0]), useTimelineState(timelines[1])];
  const longest = Math.max(a.marks.at(-1)?.ms ?? 0, b.marks.at(-1)?.ms ?? 0);
  const onChange = (step: number) => {
    setAt(step);
    const ms = (longest * step) / sliderSteps;
    for (const timeline of timelines) timeline.goTo(step === sliderSteps ? "end" : seqAtTime(timeline.get().marks, ms));
  };
  const said = at === sliderSteps ? "at the end" : formatAttemptTime((longest * at) / sliderSteps);
  return (
    <section className={styles.time} aria-label="Time">
      <label>
        Time since the start
        <input
          type="range"
          min={0}
          max={sliderSteps}
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
