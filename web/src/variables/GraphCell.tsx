import { memo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import type { Box } from "./layout";
import styles from "./ReactiveGraph.module.css";
import { useCellNames, useCellText } from "./useCellNames";

interface Props {
  id: string;
  box: Box;
  /** The cell ran again a moment ago. */
  isRerun: boolean;
}

/** A cell in the drawing of the reactive graph. A click selects the cell in the notebook. */
export const GraphCell = memo(function GraphCell({ id, box, isRerun }: Props) {
  const { jumpTo } = useNotebookNavigation();
  const name = useCellNames()(id);
  const text = useCellText(id);
  return (
    <button
      type="button"
      className={`${styles.cell} ${isRerun ? styles.again : ""}`}
      style={{ ...box }}
      title={text}
      onClick={() => jumpTo(id)}
    >
      <span className={styles.place}>
        {name}
        {isRerun && " re-run"}
      </span>
      <code>{text}</code>
    </button>
  );
});
