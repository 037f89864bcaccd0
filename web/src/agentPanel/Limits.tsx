import { cost, count, size } from "../format/format";
import type { RunLimits } from "../protocol/api.gen";
import { useSelect } from "../store/store";
import { clockText, useNow } from "../ui/useNow";
import { type Attempt, limitOf } from "./attempt";
import styles from "./CaseView.module.css";
import { allTokens, turnsOf } from "./usage";

interface Limit {
  name: string;
  field: keyof RunLimits;
  /** What has been taken; null: that is not known here. */
  used: number | null;
  write: (n: number) => string;
}

/** Each limit of an attempt, with what has been taken of it as far as that is known. */
export function Limits({ attempt }: { attempt: Attempt }) {
  const usage = useSelect((state) => state.agent.usage);
  const turns = useSelect((state) => turnsOf(state.agent.conversation));
  const now = useNow(attempt.started !== null);
  const elapsed = attempt.started === null ? 0 : Math.max(0, (now - attempt.started) / 1000);
  const limits: Limit[] = [
    { name: "Time", field: "wall_s", used: elapsed, write: clockText },
    { name: "Turns", field: "turns", used: turns, write: count },
    { name: "Tokens", field: "tokens", used: usage === null ? 0 : allTokens(usage), write: count },
    { name: "Cost", field: "cost_usd", used: usage === null ? 0 : (usage.cost_usd ?? null), write: cost },
    { name: "Actions", field: "actions", used: null, write: count },
    { name: "Silence", field: "idle_s", used: null, write: clockText },
    { name: "A cell", field: "cell_s", used: null, write: clockText },
    { name: "Disk", field: "disk_bytes", used: null, write: size },
  ];
  return (
    <dl className={styles.limits} aria-label="Limits">
      {limits.map((limit) => (
        <Row key={limit.field} limit={limit} most={limitOf(attempt, limit.field)} />
      ))}
    </dl>
  );
}

function Row({ limit: { name, used, write }, most }: { limit: Limit; most: number | null }) {
  if (most === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{used === null ? `at most ${write(most)}` : `${write(used)} of ${write(most)}`}</dd>
      {used !== null && <meter aria-label={name} min={0} max={most} high={most * 0.8} value={Math.min(used, most)} />}
    </div>
  );
}
