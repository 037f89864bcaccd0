import { memo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import { oneLine } from "../text/displayText";
import { type SignalNode, signalLabel } from "./graph";
import type { NodeBox } from "./layout";
import styles from "./ReactiveGraph.module.css";
import { useCellNames } from "./useCellNames";

/** A signal in the drawing of the reactive graph. A click selects the cell that defines it. */
export const GraphSignal = memo(function GraphSignal({ signal, box }: { signal: SignalNode; box: NodeBox }) {
  const { jumpTo } = useNotebookNavigation();
  const nameOf = useCellNames();
  const { name, definedBy } = signal;
  const from = definedBy === null ? "its cell was deleted" : `defined by ${nameOf(definedBy)}`;
  return (
    <button
      type="button"
      className={styles.signal}
      style={{ ...box }}
      disabled={definedBy === null}
      title={`${oneLine(name)}, ${from}`}
      onClick={() => definedBy !== null && jumpTo(definedBy)}
    >
      <span className="visually-hidden">signal </span>
      {oneLine(signalLabel(signal), 80)}
    </button>
  );
});
