import { memo } from "react";
import { Link } from "wouter";
import { formatCost, formatDateTime, formatDuration, formatPercent } from "../../format/format";
import { runPath } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { Badge } from "../../ui/Badge";
import { leftOutWords } from "../data/leftOut";
import { pathsOf, type Run, whoOf } from "../data/run";
import { Name } from "../parts/Name";
import { OutcomeBar } from "../parts/OutcomeBar";
import { StateBadge } from "../parts/StateBadge";
import styles from "./RunsTable.module.css";

interface Props {
  run: Run;
  chosen: boolean;
  onChoose: (name: string) => void;
}

/** A run in the list of runs. */
export const RunRow = memo(function RunRow(props: Props) {
  return props.run.problem !== "" ? <BrokenRow run={props.run} /> : <SoundRow {...props} />;
});

function SoundRow({ run, chosen, onChoose }: Props) {
  return (
    <tr>
      <td className={styles.choose}>
        <input
          type="checkbox"
          checked={chosen}
          aria-label={`Compare ${plainName(run.name)}`}
          onChange={() => onChoose(run.name)}
        />
      </td>
      <th scope="row">
        <Link href={runPath(run.name)}>
          <Name text={run.name} />
        </Link>
        <span className={styles.under}>{formatDateTime(run.started)}</span>
      </th>
      <td>
        <Name text={whoOf(run.config)} />
        <span className={styles.under}>{plainName(pathsOf(run.config).map(lastPart).join(", "))}</span>
      </td>
      <td className={styles.outcomes}>
        <OutcomeBar counts={run.counts} />
        {run.leftOut && <span className={styles.missing}>{leftOutWords(run.leftOut)}</span>}
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Pass rate </span>
        {formatPercent(run.passRate)}
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Cost </span>
        {formatCost(run.costUsd)}
      </td>
      <td>
        <StateBadge state={run.state} />
        <span className={styles.under}>{formatDuration(run.durationMs)}</span>
      </td>
    </tr>
  );
}

function BrokenRow({ run }: { run: Run }) {
  return (
    <tr>
      <td className={styles.choose} />
      <th scope="row">
        <Name text={run.name} />
      </th>
      <td colSpan={4} className={styles.problem}>
        It cannot be read: {plainName(run.problem)}
      </td>
      <td>
        <Badge tone="bad">broken</Badge>
      </td>
    </tr>
  );
}

function lastPart(path: string): string {
  return path.split("/").findLast((part) => part !== "") ?? path;
}
