import { memo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import type { NodeBox } from "./layout";
import styles from "./ReactiveGraph.module.css";
import { useCellNames, useCellTitleOrLine } from "./useCellNames";

interface Props {
  id: string;
  box: NodeBox;
  /** The cell ran again a moment ago. */
  isRerun: boolean;
}

/** A cell in the drawing of the reactive graph. A click selects the cell in the notebook. */
export const GraphCell = memo(function GraphCell({ id, box, isRerun }: Props) {
  const { jumpTo } = useNotebookNavigation();
  const name = useCellNames()(id);
  const text = useCellTitleOrLine(id);
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
