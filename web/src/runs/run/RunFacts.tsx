import { cost, count, dateTime, duration } from "../../format/format";
import { plainName } from "../../text/displayText";
import type { Attempt } from "../data/line";
import { pathsOf, type Run, whoOf } from "../data/run";
import { costOf } from "../data/tally";
import { RunState } from "./RunState";
import styles from "./RunView.module.css";

interface Props {
  run: Run;
  attempts: readonly Attempt[];
}

/** What there is to say of a run in a line or two. */
export function RunFacts({ run, attempts }: Props) {
  const { config } = run;
  const facts: [string, string][] = [
    ["Started", dateTime(run.started)],
    ["Agent", plainName(whoOf(config))],
    ["Kernel", plainName(config.kernel || "python")],
    ["Cases", plainName(pathsOf(config).join(", "))],
    ["Epochs", `${count(config.epochs ?? 1)} per case, ${count(config.jobs ?? 1)} at once`],
    [run.state === "running" ? "For" : "Took", duration(run.durationMs)],
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
