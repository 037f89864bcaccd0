import { useNotebookNavigation } from "../../commands/navigation";
import { useSelect } from "../../store/store";
import { plainName } from "../../text/displayText";
import styles from "./CellLink.module.css";

/** A link to a cell in the notebook beside it; plain text if the cell is not there. */
export function CellLink({ id }: { id: string }) {
  const at = useSelect((state) => state.notebook.order.indexOf(id));
  const { jumpTo } = useNotebookNavigation();
  if (at < 0) return <code>{plainName(id.slice(0, 8))}</code>;
  return (
    <button type="button" className={styles.link} onClick={() => jumpTo(id)}>
      {`cell ${at + 1}`}
    </button>
  );
}
