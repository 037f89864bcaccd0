import { useNotebookNavigation } from "../commands/navigation";
import { useSelect } from "../store/store";
import { plainName } from "../text/displayText";
import styles from "./Outputs.module.css";

/** Shows a cell's number, as "cell 5", as a link to it; if the cell is not in the notebook, the beginning of its id as text. */
export function CellLink({ id }: { id: string }) {
  const place = useSelect(({ notebook }) => (Object.hasOwn(notebook.cells, id) ? notebook.order.indexOf(id) : -1));
  const { jumpTo } = useNotebookNavigation();
  if (place < 0) return <span title="This cell is not in the notebook">cell {plainName(id, 8)}</span>;
  return (
    <button type="button" className={styles.cellLink} title={`Go to ${plainName(id)}`} onClick={() => jumpTo(id)}>
      cell {place + 1}
    </button>
  );
}
