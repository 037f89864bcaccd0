import { formatCost, formatCount, formatDateTime, formatDuration } from "../../format/format";
import { plainName } from "../../text/displayText";
import type { Attempt } from "../data/attempt";
import { agentText, casePaths, type Run } from "../data/run";
import { totalCostOf } from "../data/tally";
import { RunProgress } from "./RunProgress";
import styles from "./RunView.module.css";

interface Props {
  run: Run;
  attempts: readonly Attempt[];
}

/** The main facts of a run: state, start, agent, kernel, cases, epochs, duration and cost. */
export function RunFacts({ run, attempts }: Props) {
  const { config } = run;
  const facts: [string, string][] = [
    ["Started", formatDateTime(run.started)],
    ["Agent", plainName(agentText(config)) + (config.agent_confined === false ? " (not confined: on trust)" : "")],
    ["Kernel", plainName(config.kernel || "python")],
    ["Cases", plainName(casePaths(config).join(", "))],
    ["Epochs", `${formatCount(config.epochs ?? 1)} per case, ${formatCount(config.jobs ?? 1)} at once`],
    [run.state === "running" ? "For" : "Took", formatDuration(run.durationMs)],
    ["Cost", formatCost(totalCostOf(attempts))],
  ];
  return (
    <dl className={styles.facts}>
      <RunProgress run={run} />
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
