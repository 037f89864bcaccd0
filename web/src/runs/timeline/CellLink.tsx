import { useNotebookNavigation } from "../../commands/navigation";
import { useSelect } from "../../store/store";
import { plainName } from "../../text/displayText";
import styles from "./CellLink.module.css";

/** Leads to a cell of the notebook beside it; one that is not there now is only named. */
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
