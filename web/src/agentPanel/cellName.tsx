import { type ComponentType, createContext, useContext } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import styles from "./ToolCall.module.css";

/**
 * A component that shows the name of a cell in a conversation: a link if a notebook is on the page,
 * else plain text.
 */
export type CellNameComponent = ComponentType<{ id: string }>;

function PlainCellName({ id }: { id: string }) {
  return <code className={styles.cell}>{oneLine(id, 8)}</code>;
}

const CellNameContext = createContext<CellNameComponent>(PlainCellName);

/** Sets the component that names cells below it. The default shows the first 8 characters of the id. */
export const CellNameProvider = CellNameContext.Provider;

export function useCellNameComponent(): CellNameComponent {
  return useContext(CellNameContext);
}

/** A link to the cell in the notebook; if the cell was deleted, the first characters of its id. */
export function CellNameLink({ id }: { id: string }) {
  const index = useSelect((state) => (Object.hasOwn(state.notebook.cells, id) ? state.notebook.order.indexOf(id) : -1));
  const { jumpTo } = useNotebookNavigation();
  if (index < 0) {
    return (
      <span className={styles.cell} title="This cell is not in the notebook">
        {oneLine(id, 8)}
      </span>
    );
  }
  return (
    <button type="button" className={styles.cellLink} title={`Go to ${id}`} onClick={() => jumpTo(id)}>
      cell {index + 1}
    </button>
  );
}
