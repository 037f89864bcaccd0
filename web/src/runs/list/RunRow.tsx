import { memo } from "react";
import { Link } from "wouter";
import { formatCost, formatDateTime, formatDuration, formatPercent } from "../../format/format";
import { runPath } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { Badge } from "../../ui/Badge";
import { agentText, casePaths, isNothingGraded, type Run } from "../data/run";
import { unreadableLinesText } from "../data/unreadableLines";
import { ForeignName } from "../parts/ForeignName";
import { OutcomeBar } from "../parts/OutcomeBar";
import { RunStateBadge } from "../parts/RunStateBadge";
import styles from "./RunsTable.module.css";

interface Props {
  run: Run;
  chosen: boolean;
  onChoose: (name: string) => void;
}

/** A row of the list of runs. */
export const RunRow = memo(function RunRow(props: Props) {
  return props.run.problem !== "" ? <UnreadableRunRow run={props.run} /> : <ReadableRunRow {...props} />;
});

function ReadableRunRow({ run, chosen, onChoose }: Props) {
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
          <ForeignName text={run.name} />
        </Link>
        <span className={styles.under}>{formatDateTime(run.started)}</span>
      </th>
      <td>
        <ForeignName text={agentText(run.config)} />
        <span className={styles.under}>{plainName(casePaths(run.config).map(lastPathPart).join(", "))}</span>
      </td>
      <td className={styles.outcomes}>
        <OutcomeBar counts={run.counts} />
        {run.leftOut && <span className={styles.missing}>{unreadableLinesText(run.leftOut)}</span>}
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Pass rate </span>
        {isNothingGraded(run.counts) ? "nothing graded" : formatPercent(run.passRate)}
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Cost </span>
        {formatCost(run.costUsd)}
      </td>
      <td>
        <RunStateBadge state={run.state} />
        <span className={styles.under}>{formatDuration(run.durationMs)}</span>
      </td>
    </tr>
  );
}

function UnreadableRunRow({ run }: { run: Run }) {
  return (
    <tr>
      <td className={styles.choose} />
      <th scope="row">
        <ForeignName text={run.name} />
      </th>
      <td colSpan={4} className={styles.problem}>
        Unreadable: {plainName(run.problem)}
      </td>
      <td>
        <Badge tone="bad">broken</Badge>
      </td>
    </tr>
  );
}

function lastPathPart(path: string): string {
  return path.split("/").findLast((part) => part !== "") ?? path;
}
