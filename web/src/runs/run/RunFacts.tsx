import { cost, count, duration, when } from "../data/format";
import { type Fields, numberOf, textOf } from "../data/json";
import type { Attempt } from "../data/line";
import { pathsOf, type Run, whoOf } from "../data/run";
import { costOf } from "../data/tally";
import { visible } from "../data/visible";
import { RunState } from "./RunState";
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
    ["Epochs", `${count(numberOf(config.epochs) ?? 1)} per case, ${count(numberOf(config.jobs) ?? 1)} at once`],
    ["Took", duration(numberOf(summary?.duration_ms))],
    ["Cost", cost(costOf(attempts))],
  ];
  return (
    <dl className={styles.facts}>
      <RunState run={run} />
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
