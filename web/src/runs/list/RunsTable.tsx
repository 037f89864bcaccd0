import type { Run } from "../data/run";
import { RunRow } from "./RunRow";
import styles from "./RunsTable.module.css";

interface Props {
  runs: readonly Run[];
  /** Names of those that were chosen, for to be compared. */
  chosen: readonly string[];
  onChoose: (name: string) => void;
}

/** The runs as a table; narrow, each is a block. */
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
