import { Problem } from "../../api/Problem";
import { formatDuration } from "../../format/format";
import type { TimeShares } from "../../protocol/api.gen";
import styles from "./Overview.module.css";
import { useStatistics } from "./statistics";

/**
 * For what the agent waited while it worked: its models, the kernel, both or neither. Nothing if
 * its calls of models are not in the trace.
 */
export function WaitingTimes({ base }: { base: string }) {
  const { data, error, reload } = useStatistics(base);
  if (error) return <Problem what="The times could not be loaded" error={error} onRetry={reload} />;
  if (data?.models === undefined || data.time === undefined) return null;
  const shares = sharesOf(data.time);
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">What the agent waited for</h2>
      <div className={styles.bar} aria-hidden="true">
        {shares.map(({ id, ms }) => (
          <span key={id} className={styles[id]} style={{ flexGrow: ms }} />
        ))}
      </div>
      <ul className={styles.words}>
        {shares.map(({ id, label, ms }) => (
          <li key={id}>
            <span className={`${styles.swatch} ${styles[id]}`} aria-hidden="true" />
            {`${label} ${formatDuration(ms)}`}
          </li>
        ))}
      </ul>
    </section>
  );
}

function sharesOf(time: TimeShares): { id: string; label: string; ms: number }[] {
  const shares = [
    { id: "model", label: "models", ms: time.model_ms },
    { id: "both", label: "models and kernel", ms: time.both_ms },
    { id: "kernel", label: "kernel", ms: time.kernel_ms },
    { id: "neither", label: "neither", ms: time.neither_ms },
  ];
  return shares.filter(({ ms, id }) => ms > 0 || id === "model" || id === "kernel");
}
