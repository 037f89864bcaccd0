import RefreshCw from "lucide-react/icons/refresh-cw";
import { useMemo, useRef } from "react";
import { type Reactivity, useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button, IconButton } from "../ui/Button";
import { GraphDrawing } from "./GraphDrawing";
import { GraphList } from "./GraphList";
import { graphOf, whatIsRead } from "./graph";
import styles from "./ReactiveGraph.module.css";
import { useAsked } from "./useAsked";
import { useReruns } from "./useReruns";

/** Which cells make signals, and which run again because of them. */
export default function ReactiveGraph() {
  const place = useRef<HTMLElement>(null);
  const commands = useCommands();
  const gone = useSelect((state) => state.notebook.kernel === "dead");
  const can = commands !== null && !gone;
  const { answer, error, asking, again } = useAsked<Reactivity>(can ? commands.reactivity : null, place);
  const told = JSON.stringify(answer?.cell_reactivity ?? null); // what has not changed is not laid out anew
  const graph = useMemo(() => graphOf(JSON.parse(told)), [told]);
  const drawn = useMemo(() => whatIsRead(graph), [graph]);
  const unread = graph.signals.length - drawn.signals.length;
  const reruns = useReruns(graph);
  const empty = graph.cells.length === 0;
  return (
    <section ref={place} className={styles.graph} aria-label="Reactive graph" aria-busy={asking}>
      <div className={styles.bar}>
        <p>A cell runs again when what it reads has changed. Arrows lead to what runs.</p>
        <IconButton label="Ask again" disabled={!can} onClick={again}>
          <RefreshCw />
        </IconButton>
      </div>
      {commands === null && <p className={styles.note}>The notebook is only looked at: there is no kernel to ask.</p>}
      {gone && <p className={styles.bad}>The kernel is gone, and the signals with it.</p>}
      {error !== "" && !gone && (
        <div role="alert" className={styles.bad}>
          The signals could not be asked for: {error} <Button onClick={again}>Try again</Button>
        </div>
      )}
      {answer !== null && empty && (
        <p className={styles.note}>No cell makes or reads a signal yet. Widgets are signals too.</p>
      )}
      {unread > 0 && <p className={styles.note}>{unreadText(unread)}</p>}
      {drawn.cells.length > 0 && <GraphDrawing graph={drawn} reruns={reruns} />}
      {!empty && <GraphList graph={graph} reruns={reruns} />}
    </section>
  );
}

function unreadText(count: number): string {
  const text =
    count === 1 ? "1 signal that no cell reads is" : `${count.toLocaleString("en")} signals that no cell reads are`;
  return `${text} in the list only.`;
}
