import { formatDuration, outOfRangeText } from "../../format/format";
import type { RunPhaseTimes } from "../../protocol/api.gen";
import styles from "./Overview.module.css";

/** The duration of each phase of an attempt. */
export function Phases({ phases }: { phases: RunPhaseTimes }) {
  const parts = phaseTimes(phases);
  if (parts.length === 0) return null;
  return (
    <section aria-labelledby="phases">
      <h2 id="phases">Phases</h2>
      <div className={styles.bar} aria-hidden="true">
        {parts.map(({ id, ms }) => (
          <span key={id} className={styles[id]} style={{ flexGrow: formatDuration(ms) === outOfRangeText ? 0 : ms }} />
        ))}
      </div>
      <ul className={styles.words}>
        {parts.map(({ id, label, ms }) => (
          <li key={id}>
            <span className={`${styles.swatch} ${styles[id]}`} aria-hidden="true" />
            {`${label} ${formatDuration(ms)}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PhaseTime {
  id: string;
  label: string;
  ms: number;
}

/**
 * Returns the phases of an attempt that took any time, with their duration. Time spent waiting for
 * the model is a phase and is not counted as work.
 */
function phaseTimes(phases: RunPhaseTimes): PhaseTime[] {
  const ms = (name: keyof RunPhaseTimes) => phases[name] ?? 0;
  const wait = Math.max(0, Math.min(ms("wait_ms"), ms("work_ms")));
  return [
    { id: "start", label: "start", ms: ms("start_ms") },
    { id: "work", label: "work", ms: ms("work_ms") - wait },
    { id: "wait", label: "wait for the model", ms: wait },
    { id: "collect", label: "collect", ms: ms("collect_ms") },
    { id: "grade", label: "grade", ms: ms("grade_ms") },
  ].filter((part) => part.ms !== 0);
}
