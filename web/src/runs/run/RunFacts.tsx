import { formatCost, formatCount, formatDateTime, formatDuration } from "../../format/format";
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
    ["Started", formatDateTime(run.started)],
    ["Agent", plainName(whoOf(config))],
    ["Kernel", plainName(config.kernel || "python")],
    ["Cases", plainName(pathsOf(config).join(", "))],
    ["Epochs", `${formatCount(config.epochs ?? 1)} per case, ${formatCount(config.jobs ?? 1)} at once`],
    [run.state === "running" ? "For" : "Took", formatDuration(run.durationMs)],
    ["Cost", formatCost(costOf(attempts))],
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
