import type { Run } from "../data/run";
import { RunRow } from "./RunRow";
import styles from "./RunsTable.module.css";

/** The runs as a table; narrow, each is a block. */
export function RunsTable({ runs }: { runs: readonly Run[] }) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Runs, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Agent and cases</th>
          <th scope="col">Outcomes</th>
          <th scope="col" className={styles.number}>
            Pass rate
          </th>
          <th scope="col" className={styles.number}>
            Cost
          </th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.name} run={run} />
        ))}
      </tbody>
    </table>
  );
}
