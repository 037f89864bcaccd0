import { type Verdict, verdicts } from "../data/outcome";
import type { AttemptCounts } from "../data/tally";
import styles from "./OutcomeBar.module.css";

/**
 * Returns the number of attempts by verdict as text, such as "27 passed, 1 failed"; "no attempts
 * yet" if all are 0.
 */
export function attemptCountsText(counts: AttemptCounts): string {
  const parts = verdicts.filter((verdict) => counts[verdict] > 0).map((verdict) => `${counts[verdict]} ${verdict}`);
  return parts.length > 0 ? parts.join(", ") : "no attempts yet";
}

/** The number of attempts by verdict, as a bar and as text. */
export function OutcomeBar({ counts }: { counts: AttemptCounts }) {
  const shown = verdicts.filter((verdict) => counts[verdict] > 0);
  return (
    <div className={styles.outcomes}>
      <div className={styles.bar} aria-hidden="true">
        {shown.map((verdict) => (
          <span key={verdict} className={styles[verdict]} style={{ flexGrow: counts[verdict] }} />
        ))}
      </div>
      <ul className={styles.words}>
        {shown.map((verdict) => (
          <li key={verdict}>
            <VerdictSwatch verdict={verdict} />
            {`${counts[verdict].toLocaleString("en")} ${verdict}`}
          </li>
        ))}
        {shown.length === 0 && <li>none finished yet</li>}
      </ul>
    </div>
  );
}

function VerdictSwatch({ verdict }: { verdict: Verdict }) {
  return <span className={`${styles.swatch} ${styles[verdict]}`} aria-hidden="true" />;
}
