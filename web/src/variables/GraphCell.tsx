import { memo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import type { Box } from "./layout";
import styles from "./ReactiveGraph.module.css";
import { useCellNames, useCellText } from "./useCellNames";

interface Props {
  id: string;
  box: Box;
  /** It ran again a moment ago. */
  again: boolean;
}

/** A cell in the drawing, which leads to it. */
export const GraphCell = memo(function GraphCell({ id, box, again }: Props) {
  const { jumpTo } = useNotebookNavigation();
  const name = useCellNames()(id);
  const text = useCellText(id);
  return (
    <button
      type="button"
      className={`${styles.cell} ${again ? styles.again : ""}`}
      style={{ ...box }}
      title={text}
      onClick={() => jumpTo(id)}
    >
      <span className={styles.place}>
        {name}
        {again && " ran again"}
      </span>
      <code>{text}</code>
    </button>
  );
});
