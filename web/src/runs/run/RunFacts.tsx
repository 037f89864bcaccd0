import { Badge } from "../../ui/Badge";
import { cost, count, duration, when } from "../data/format";
import { type Fields, numberOf, textOf } from "../data/json";
import type { Attempt } from "../data/line";
import { pathsOf, type Run, whoOf } from "../data/run";
import { costOf } from "../data/tally";
import { visible } from "../data/visible";
import { LastSign } from "./LastSign";
import styles from "./RunView.module.css";

interface Props {
  run: Run;
  attempts: readonly Attempt[];
  summary: Fields | null;
}

/** What there is to say of a run in a line or two. */
export function RunFacts({ run, attempts, summary }: Props) {
  const { config } = run;
  const facts: [string, string][] = [
    ["Started", when(run.started)],
    ["Agent", visible(whoOf(config))],
    ["Kernel", visible(textOf(config.kernel) || "python")],
    ["Cases", visible(pathsOf(config).join(", "))],
    ["Tries", `${count(numberOf(config.epochs) ?? 1)} per case, ${count(numberOf(config.jobs) ?? 1)} at once`],
    ["Took", duration(numberOf(summary?.duration_ms))],
    ["Cost", cost(costOf(attempts))],
  ];
  return (
    <dl className={styles.facts}>
      <div>
        <dt className="visually-hidden">State</dt>
        <dd>{run.finished ? <Badge>finished</Badge> : <Badge tone="accent">not finished</Badge>}</dd>
      </div>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {!run.finished && run.running[0] !== undefined && <LastSign run={run.name} attempt={run.running[0]} />}
    </dl>
  );
}
