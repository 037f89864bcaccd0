import ZoomIn from "lucide-react/icons/zoom-in";
import ZoomOut from "lucide-react/icons/zoom-out";
import { useId, useRef, useState } from "react";
import { Button, IconButton } from "../ui/Button";
import { GraphCell } from "./GraphCell";
import { GraphSignal } from "./GraphSignal";
import { cellNodeId, type Graph, signalNodeId } from "./graph";
import styles from "./ReactiveGraph.module.css";
import { type GraphWithLayout, useLayout } from "./useLayout";
import { useWidth } from "./useWidth";

interface Props {
  graph: Graph;
  /** Ids of the cells that ran again a moment ago. */
  reruns: ReadonlySet<string>;
}

const minZoom = 0.2;
const maxZoom = 1.5;

/** Draws the reactive graph as soon as its layout has been computed. */
export function GraphDrawing({ graph, reruns }: Props) {
  const drawn = useLayout(graph);
  if (drawn === null) return <p className={styles.note}>Computing the layout…</p>;
  if (drawn instanceof Error) return <p className={styles.bad}>The graph could not be drawn: {drawn.message}</p>;
  return <LaidOutGraph drawn={drawn} reruns={reruns} />;
}

function clampZoom(zoom: number, most: number): number {
  return Math.min(most, Math.max(minZoom, zoom));
}

/** Draws a graph with a layout: SVG lines between buttons for the cells and signals. */
function LaidOutGraph({ drawn: { graph, layout }, reruns }: { drawn: GraphWithLayout; reruns: Props["reruns"] }) {
  const { width, height, boxes, lines } = layout;
  const [userZoom, setUserZoom] = useState<number | null>(null);
  const view = useRef<HTMLDivElement>(null);
  const available = useWidth(view);
  const arrow = useId();
  // Until the user zooms, the whole width is visible, even if the graph or the panel changes.
  const zoom = userZoom ?? (available === 0 ? 1 : clampZoom(available / width, 1));
  const scale = (by: number) => setUserZoom(clampZoom(by, maxZoom));
  const box = (id: string) => boxes.get(id) ?? { left: 0, top: 0, width: 0, height: 0 };
  return (
    <>
      <div className={styles.zoom}>
        <IconButton label="Zoom out" onClick={() => scale(zoom / 1.25)}>
          <ZoomOut />
        </IconButton>
        <IconButton label="Zoom in" onClick={() => scale(zoom * 1.25)}>
          <ZoomIn />
        </IconButton>
        <Button variant="quiet" onClick={() => setUserZoom(null)}>
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
              <GraphSignal key={signal.name} signal={signal} box={box(signalNodeId(signal.name))} />
            ))}
            {graph.cells.map((cell) => (
              <GraphCell key={cell.id} id={cell.id} box={box(cellNodeId(cell.id))} isRerun={reruns.has(cell.id)} />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}
