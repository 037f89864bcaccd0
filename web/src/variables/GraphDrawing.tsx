import { ZoomIn, ZoomOut } from "lucide-react";
import { useId, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton } from "../ui/Button";
import { GraphCell } from "./GraphCell";
import { GraphSignal } from "./GraphSignal";
import { cellNode, type Graph, signalNode } from "./graph";
import styles from "./ReactiveGraph.module.css";
import { type Drawn, useLayout } from "./useLayout";

interface Props {
  graph: Graph;
  /** Ids of the cells that ran again a moment ago. */
  reruns: ReadonlySet<string>;
}

const least = 0.2;
const legible = 0.7; // the least that is chosen unasked
const greatest = 1.5;

/** The graph as a drawing, as soon as it is laid out. */
export function GraphDrawing({ graph, reruns }: Props) {
  const drawn = useLayout(graph);
  if (drawn === null) return <p className={styles.note}>The graph is being laid out.</p>;
  if (drawn instanceof Error) return <p className={styles.bad}>The graph cannot be drawn: {drawn.message}</p>;
  return <Drawing drawn={drawn} reruns={reruns} />;
}

/** Lines of SVG between buttons that lead to the cells. */
function Drawing({ drawn: { graph, layout }, reruns }: { drawn: Drawn; reruns: Props["reruns"] }) {
  const { width, height, boxes, lines } = layout;
  const [zoom, setZoom] = useState(1);
  const view = useRef<HTMLDivElement>(null);
  const arrow = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only as it comes to be drawn, then the zoom is the person's
  useLayoutEffect(() => {
    if (view.current) setZoom(Math.min(1, Math.max(legible, view.current.clientWidth / width)));
  }, []);
  const scale = (by: number) => setZoom(Math.min(greatest, Math.max(least, by)));
  const fit = () => scale(Math.min(1, (view.current?.clientWidth ?? width) / width));
  const box = (id: string) => boxes.get(id) ?? { left: 0, top: 0, width: 0, height: 0 };
  return (
    <>
      <div className={styles.zoom}>
        <IconButton label="Smaller" onClick={() => scale(zoom / 1.25)}>
          <ZoomOut />
        </IconButton>
        <IconButton label="Larger" onClick={() => scale(zoom * 1.25)}>
          <ZoomIn />
        </IconButton>
        <Button look="quiet" onClick={fit}>
          Fit
        </Button>
      </div>
      <div ref={view} className={styles.view}>
        <div style={{ width: width * zoom, height: height * zoom }}>
          <div className={styles.stage} style={{ width, height, transform: `scale(${zoom})` }}>
            <svg className={styles.lines} width={width} height={height} aria-hidden="true">
              <marker id={arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0,0 L8,4 L0,8 z" />
              </marker>
              {lines.map(({ from, to, kind, path }) => (
                <path key={`${from}>${to}`} className={styles[kind]} d={path} markerEnd={`url(#${arrow})`} />
              ))}
            </svg>
            {graph.signals.map((signal) => (
              <GraphSignal key={signal.name} signal={signal} box={box(signalNode(signal.name))} />
            ))}
            {graph.cells.map((cell) => (
              <GraphCell key={cell.id} id={cell.id} box={box(cellNode(cell.id))} again={reruns.has(cell.id)} />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}
