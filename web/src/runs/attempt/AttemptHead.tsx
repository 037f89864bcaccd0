import { Link } from "wouter";
import { useNow } from "../../ui/useNow";
import { cost, count, duration, when } from "../data/format";
import { type Fields, textOf, timeOf } from "../data/json";
import { runningMs } from "../data/lastSign";
import { attemptOf } from "../data/line";
import { outcomeWords } from "../data/outcome";
import { comparePath } from "../data/paths";
import { visible } from "../data/visible";
import { Name } from "../parts/Name";
import { VerdictMark } from "../parts/VerdictMark";
import styles from "./AttemptHead.module.css";
import { Neighbours } from "./Neighbours";

/** What there is to say of an attempt in a line or two. */
export function AttemptHead({ run, name, line }: { run: string; name: string; line: Fields }) {
  const attempt = attemptOf(line);
  const running = attempt?.verdict === "running";
  const now = useNow(running);
  if (attempt === null) return <h1 className={styles.title}>{visible(name)}</h1>;
  const facts: [string, string][] = running
    ? [
        ["Running for", duration(runningMs(line, now))],
        ["Began", when(timeOf(line.started))],
        ["Last sign of life", when(timeOf(line.changed))],
      ]
    : [
        ["Outcome", visible(outcomeWords(attempt.outcome))],
        ["Took", duration(attempt.durationMs)],
        ["Turns", count(attempt.turns)],
        ["Actions", count(attempt.actions)],
        ["Tokens", count(attempt.tokens)],
        ["Cost", cost(attempt.costUsd)],
      ];
  const tries = attempt.epoch === null ? "" : `epoch ${attempt.epoch}, try ${attempt.try ?? 1}`;
  return (
    <div className={styles.head}>
      <h1 className={styles.title}>
        <Name text={attempt.caseId || textOf(line.slug) || name} />
      </h1>
      <VerdictMark verdict={attempt.verdict} />
      <span className={styles.tries}>{tries}</span>
      <dl className={styles.facts}>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Link href={comparePath({ run, attempt: name }, null)} className={styles.compare}>
        Compare with another
      </Link>
      {attempt.n > 0 && <Neighbours run={run} n={attempt.n} />}
    </div>
  );
}
