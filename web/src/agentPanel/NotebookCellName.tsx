import { useNotebookNavigation } from "../commands/navigation";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import styles from "./ToolCall.module.css";

/** A link to a cell of the notebook beside; of one that is there no more, its id. */
export function NotebookCellName({ id }: { id: string }) {
  const place = useSelect((state) => (Object.hasOwn(state.notebook.cells, id) ? state.notebook.order.indexOf(id) : -1));
  const { jumpTo } = useNotebookNavigation();
  if (place < 0) {
    return (
      <span className={styles.cell} title="This cell is not in the notebook">
        {oneLine(id, 8)}
      </span>
    );
  }
  return (
    <button type="button" className={styles.cellLink} title={`Go to ${id}`} onClick={() => jumpTo(id)}>
      cell {place + 1}
    </button>
  );
}
