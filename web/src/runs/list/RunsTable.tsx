import type { Run } from "../data/run";
import { RunRow } from "./RunRow";
import styles from "./RunsTable.module.css";

interface Props {
  runs: readonly Run[];
  /** Names of the runs selected for comparison. */
  chosen: readonly string[];
  onChoose: (name: string) => void;
}

/** The runs as a table; in narrow windows each row is a block. */
export function RunsTable({ runs, chosen, onChoose }: Props) {
  return (
    <table className={styles.table}>
      <caption className="visually-hidden">Runs, newest first</caption>
      <thead>
        <tr>
          <th scope="col" className={styles.choose}>
            <span className="visually-hidden">Chosen</span>
          </th>
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
          <RunRow key={run.name} run={run} chosen={chosen.includes(run.name)} onChoose={onChoose} />
        ))}
      </tbody>
    </table>
  );
}
