import { formatBytes, formatCost, formatCount } from "../format/format";
import type { RunLimits } from "../protocol/session.gen";
import { useSelect } from "../store/store";
import { durationAsClockText, useNow } from "../ui/useNow";
import { type CurrentAttempt, limitOfAttempt } from "./attempt";
import styles from "./CaseView.module.css";
import { assistantMessageCount, totalTokens } from "./usage";

/** A limit of an attempt as a row of the table. */
interface AttemptLimit {
  name: string;
  field: keyof RunLimits;
  /** How much has been used; null if unknown here. */
  used: number | null;
  format: (n: number) => string;
}

/** A table of the attempt's limits, each with the usage so far if it is known. */
export function Limits({ attempt }: { attempt: CurrentAttempt }) {
  const usage = useSelect((state) => state.agent.usage);
  const turns = useSelect((state) => assistantMessageCount(state.agent.conversation));
  const now = useNow(attempt.started !== null);
  const elapsed = attempt.started === null ? 0 : Math.max(0, (now - attempt.started) / 1000);
  const limits: AttemptLimit[] = [
    { name: "Time", field: "wall_s", used: elapsed, format: durationAsClockText },
    { name: "Turns", field: "turns", used: turns, format: formatCount },
    { name: "Tokens", field: "tokens", used: usage === null ? 0 : totalTokens(usage), format: formatCount },
    { name: "Cost", field: "cost_usd", used: usage === null ? 0 : (usage.cost_usd ?? null), format: formatCost },
    { name: "Actions", field: "actions", used: null, format: formatCount },
    { name: "Idle", field: "idle_s", used: null, format: durationAsClockText },
    { name: "Cell", field: "cell_s", used: null, format: durationAsClockText },
    { name: "Disk", field: "disk_bytes", used: null, format: formatBytes },
  ];
  return (
    <dl className={styles.limits} aria-label="Limits">
      {limits.map((limit) => (
        <LimitRow key={limit.field} limit={limit} max={limitOfAttempt(attempt, limit.field)} />
      ))}
    </dl>
  );
}

function LimitRow({ limit: { name, used, format }, max }: { limit: AttemptLimit; max: number | null }) {
  if (max === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{used === null ? `at most ${format(max)}` : `${format(used)} of ${format(max)}`}</dd>
      {used !== null && <meter aria-label={name} min={0} max={max} high={max * 0.8} value={Math.min(used, max)} />}
    </div>
  );
}
