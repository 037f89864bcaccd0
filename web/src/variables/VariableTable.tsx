import ArrowDown from "lucide-react/icons/arrow-down";
import ArrowUp from "lucide-react/icons/arrow-up";
import { VariableRow } from "./VariableRow";
import styles from "./Variables.module.css";
import type { Order, Variable } from "./variable";

interface Props {
  variables: readonly Variable[];
  order: Order;
  /** The greatest first. */
  down: boolean;
  onSort: (order: Order) => void;
}

/** Variables in rows. The headings sort them. */
export function VariableTable({ variables, order, down, onSort }: Props) {
  const heading = (by: Order, text: string) => (
    <th scope="col" aria-sort={by === order ? (down ? "descending" : "ascending") : "none"}>
      <button type="button" className={styles.sort} onClick={() => onSort(by)}>
        {text}
        {by === order && (down ? <ArrowDown aria-hidden /> : <ArrowUp aria-hidden />)}
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
