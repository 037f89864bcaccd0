import ArrowDown from "lucide-react/icons/arrow-down";
import ArrowUp from "lucide-react/icons/arrow-up";
import { VariableRow } from "./VariableRow";
import styles from "./Variables.module.css";
import type { Variable, VariableSortKey } from "./variable";

interface Props {
  variables: readonly Variable[];
  order: VariableSortKey;
  /** Sorts in descending order. */
  isDescending: boolean;
  onSort: (order: VariableSortKey) => void;
}

/** A table of variables. A click on a heading sorts it by that column. */
export function VariableTable({ variables, order, isDescending, onSort }: Props) {
  const heading = (by: VariableSortKey, text: string) => (
    <th scope="col" aria-sort={by === order ? (isDescending ? "descending" : "ascending") : "none"}>
      <button type="button" className={styles.sort} onClick={() => onSort(by)}>
        {text}
        {by === order && (isDescending ? <ArrowDown aria-hidden /> : <ArrowUp aria-hidden />)}
      </button>
    </th>
  );
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          {heading("name", "Name")}
          {heading("type", "Type")}
          {heading("size", "Size")}
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {variables.map((variable) => (
          <VariableRow key={variable.id} variable={variable} />
        ))}
      </tbody>
    </table>
  );
}
