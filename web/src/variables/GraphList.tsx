import { useMemo } from "react";
import { useNotebookNavigation } from "../commands/navigation";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import type { CellNode, Graph } from "./graph";
import styles from "./ReactiveGraph.module.css";
import { useCellNames, useCellTitleOrLine } from "./useCellNames";

interface Props {
  graph: Graph;
  reruns: ReadonlySet<string>;
}

/**
 * The reactive graph as a list in notebook order: the signals that each cell defines and reads, and
 * the cells it runs after.
 */
export function GraphList({ graph, reruns }: Props) {
  const order = useSelect((state) => state.notebook.order);
  const cells = useMemo(() => {
    const place = new Map(order.map((id, index) => [id, index]));
    const at = (id: string) => place.get(id) ?? order.length;
    return [...graph.cells].sort((a, b) => at(a.id) - at(b.id));
  }, [graph, order]);
  return (
    <details className={styles.list}>
      <summary>As a list</summary>
      <ul>
        {cells.map((cell) => (
          <GraphListCell key={cell.id} cell={cell} again={reruns.has(cell.id)} />
        ))}
      </ul>
    </details>
  );
}

function GraphListCell({ cell, again }: { cell: CellNode; again: boolean }) {
  const { jumpTo } = useNotebookNavigation();
  const nameOf = useCellNames();
  const text = useCellTitleOrLine(cell.id);
  const parts = [
    namesWithVerb(
      "defines",
      cell.defines.map((name) => oneLine(name, 80)),
    ),
    namesWithVerb(
      "reads",
      cell.reads.map((name) => oneLine(name, 80)),
    ),
    namesWithVerb("runs after", cell.runsAfter.map(nameOf)),
    again ? "re-run just now" : "",
  ];
  return (
    <li>
      <button type="button" className={styles.jump} onClick={() => jumpTo(cell.id)}>
        {nameOf(cell.id)}
      </button>{" "}
      {text !== "" && <code>{text}</code>}
      <div>{parts.filter(Boolean).join("; ")}</div>
    </li>
  );
}

function namesWithVerb(verb: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${verb} ${names.join(", ")}`;
}
