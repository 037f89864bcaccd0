import { memo } from "react";
import { Link } from "wouter";
import { Badge } from "../../ui/Badge";
import { cost, percent, when } from "../data/format";
import { fieldsOf, numberOf } from "../data/json";
import { runPath } from "../data/paths";
import { gradedOf, pathsOf, type Run, whoOf } from "../data/run";
import { useSummary } from "../data/useSummary";
import { visible } from "../data/visible";
import { Name } from "../parts/Name";
import { OutcomeBar } from "../parts/OutcomeBar";
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
  const summary = useSummary(run);
  return (
    <tr>
      <td className={styles.choose}>
        <input
          type="checkbox"
          checked={chosen}
          aria-label={`Compare ${visible(run.name)}`}
          onChange={() => onChoose(run.name)}
        />
      </td>
      <th scope="row">
        <Link href={runPath(run.name)}>
          <Name text={run.name} />
        </Link>
        <span className={styles.under}>{when(run.started)}</span>
      </th>
      <td>
        <Name text={whoOf(run.config)} />
        <span className={styles.under}>{visible(pathsOf(run.config).map(lastPart).join(", "))}</span>
      </td>
      <td className={styles.outcomes}>
        <OutcomeBar counts={run.counts} />
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Pass rate </span>
        {percent(passRate(run, summary))}
      </td>
      <td className={styles.number}>
        <span className={styles.label}>Cost </span>
        {cost(numberOf(summary?.cost_usd))}
      </td>
      <td>{run.finished ? <Badge>finished</Badge> : <Badge tone="accent">not finished</Badge>}</td>
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
        It cannot be read: {visible(run.problem)}
      </td>
      <td>
        <Badge tone="bad">broken</Badge>
      </td>
    </tr>
  );
}

/** As the run's summary has it; before there is one, the share of the attempts so far. */
function passRate(run: Run, summary: unknown): number | null {
  const strict = numberOf(fieldsOf(fieldsOf(summary).pass_rate).strict);
  if (strict !== null) return strict;
  const graded = gradedOf(run.counts);
  return graded > 0 ? run.counts.passed / graded : null;
}

function lastPart(path: string): string {
  return path.split("/").findLast((part) => part !== "") ?? path;
}
