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

/** A run in the list of runs. */
export const RunRow = memo(function RunRow({ run }: { run: Run }) {
  return run.problem !== "" ? <BrokenRow run={run} /> : <SoundRow run={run} />;
});

function SoundRow({ run }: { run: Run }) {
  const summary = useSummary(run);
  return (
    <tr>
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
