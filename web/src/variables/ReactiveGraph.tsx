import RefreshCw from "lucide-react/icons/refresh-cw";
import { useMemo, useRef } from "react";
import { type KernelReactivity, useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button, IconButton } from "../ui/Button";
import { GraphDrawing } from "./GraphDrawing";
import { GraphList } from "./GraphList";
import { graphOf, withoutUnreadSignals } from "./graph";
import styles from "./ReactiveGraph.module.css";
import { useKernelResponse } from "./useKernelResponse";
import { useReruns } from "./useReruns";

/** Shows which cells define signals and which cells run again because of them. */
export default function ReactiveGraph() {
  const element = useRef<HTMLElement>(null);
  const commands = useCommands();
  const isKernelDead = useSelect((state) => state.notebook.kernel === "dead");
  const canLoad = commands !== null && !isKernelDead;
  const { answer, error, isLoading, refresh } = useKernelResponse<KernelReactivity>(
    canLoad ? commands.reactivity : null,
    element,
  );
  const reactivityJSON = JSON.stringify(answer?.cell_reactivity ?? null); // parsed again only if it changed, so that an equal graph keeps its layout
  const graph = useMemo(() => graphOf(JSON.parse(reactivityJSON)), [reactivityJSON]);
  const readGraph = useMemo(() => withoutUnreadSignals(graph), [graph]);
  const unread = graph.signals.length - readGraph.signals.length;
  const reruns = useReruns(graph);
  const empty = graph.cells.length === 0;
  return (
    <section ref={element} className={styles.graph} aria-label="Reactive graph" aria-busy={isLoading}>
      <div className={styles.bar}>
        <p>A cell runs again when a signal it reads changes. Arrows point to the cells that run.</p>
        <IconButton label="Refresh" disabled={!canLoad} onClick={refresh}>
          <RefreshCw />
        </IconButton>
      </div>
      {commands === null && <p className={styles.note}>Read-only: there is no kernel.</p>}
      {isKernelDead && <p className={styles.bad}>The kernel has exited. Its signals are lost.</p>}
      {error !== "" && !isKernelDead && (
        <div role="alert" className={styles.bad}>
          The signals could not be loaded: {error} <Button onClick={refresh}>Try again</Button>
        </div>
      )}
      {answer !== null && empty && <p className={styles.note}>No signals yet. Widgets are signals too.</p>}
      {unread > 0 && <p className={styles.note}>{unreadSignalsText(unread)}</p>}
      {readGraph.cells.length > 0 && <GraphDrawing graph={readGraph} reruns={reruns} />}
      {!empty && <GraphList graph={graph} reruns={reruns} />}
    </section>
  );
}

function unreadSignalsText(count: number): string {
  const text = count === 1 ? "1 unread signal is" : `${count.toLocaleString("en")} unread signals are`;
  return `${text} shown in the list only.`;
}
