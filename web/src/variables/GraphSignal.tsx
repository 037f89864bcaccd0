import { memo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import { oneLine } from "../text/displayText";
import { type SignalNode, signalLabel } from "./graph";
import type { Box } from "./layout";
import styles from "./ReactiveGraph.module.css";
import { useCellNames } from "./useCellNames";

/** A signal in the drawing, which leads to the cell that made it. */
export const GraphSignal = memo(function GraphSignal({ signal, box }: { signal: SignalNode; box: Box }) {
  const { jumpTo } = useNotebookNavigation();
  const nameOf = useCellNames();
  const { name, maker } = signal;
  const from = maker === null ? "made by no cell that is left" : `made by ${nameOf(maker)}`;
  return (
    <button
      type="button"
      className={styles.signal}
      style={{ ...box }}
      disabled={maker === null}
      title={`${oneLine(name)}, ${from}`}
      onClick={() => maker !== null && jumpTo(maker)}
    >
      <span className="visually-hidden">signal </span>
      {oneLine(signalLabel(signal), 80)}
    </button>
  );
});
