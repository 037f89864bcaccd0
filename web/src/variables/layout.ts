import { graphlib, layout as place } from "@dagrejs/dagre";
import { cellNodeId, type Graph, type GraphEdge, signalNodeId } from "./graph";

/** Positions of a graph's nodes and lines, in pixels. */
export interface Layout {
  width: number;
  height: number;
  /** By node id. */
  boxes: ReadonlyMap<string, NodeBox>;
  lines: readonly EdgeLine[];
}

export interface NodeBox {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface EdgeLine extends GraphEdge {
  /** An SVG path. */
  path: string;
}

interface Point {
  x: number;
  y: number;
}

const cellSize = { width: 168, height: 46 };
const signalSize = { width: 124, height: 26 };

// Lines to the signals of a cell that defines more than this many are straight and ignored by the
// layout: routing them around all cells takes seconds.
const maxRoutedSignals = 8;

/**
 * Computes positions for a graph from top to bottom, with cells that define signals above cells
 * that read them.
 */
export function computeLayout({ cells, signals, edges }: Graph): Layout {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", ranker: "tight-tree", nodesep: 14, ranksep: 26, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of cells) graph.setNode(cellNodeId(id), { ...cellSize });
  for (const { name } of signals) graph.setNode(signalNodeId(name), { ...signalSize });
  const made = definedSignalCounts(edges);
  const straight = ({ from, kind }: GraphEdge) => kind === "makes" && (made.get(from) ?? 0) > maxRoutedSignals;
  edges.forEach((edge, index) => {
    if (!straight(edge)) graph.setEdge(edge.from, edge.to, {}, String(index));
  });
  place(graph);
  const { width = 0, height = 0 } = graph.graph();
  const boxes = new Map(graph.nodes().map((id) => [id, boxOf(graph.node(id))]));
  const lines = edges.map((edge, index) => {
    const points = straight(edge)
      ? straightLine(boxes.get(edge.from), boxes.get(edge.to))
      : graph.edge(edge.from, edge.to, String(index)).points;
    return { ...edge, path: svgPathThrough(points ?? []) };
  });
  return { width, height, boxes, lines };
}

/** Counts the signals that each node defines. */
function definedSignalCounts(edges: readonly GraphEdge[]): Map<string, number> {
  const made = new Map<string, number>();
  for (const { from, kind } of edges) if (kind === "makes") made.set(from, (made.get(from) ?? 0) + 1);
  return made;
}

/**
 * Returns the points of a straight line from the bottom of one box to the top of another; [] if a
 * box is missing.
 */
function straightLine(from: NodeBox | undefined, to: NodeBox | undefined): Point[] {
  if (from === undefined || to === undefined) return [];
  return [
    { x: from.left + from.width / 2, y: from.top + from.height },
    { x: to.left + to.width / 2, y: to.top },
  ];
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Point & NodeBox>): NodeBox {
  return { left: x - width / 2, top: y - height / 2, width, height };
}

/** Returns an SVG path through points, with rounded corners. */
function svgPathThrough(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return "";
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const [x, y] = index === rest.length - 2 ? [next.x, next.y] : [(point.x + next.x) / 2, (point.y + next.y) / 2];
    return `Q${roundToTenth(point.x)},${roundToTenth(point.y)} ${roundToTenth(x)},${roundToTenth(y)}`;
  });
  const straight = rest.length === 1 ? `L${roundToTenth(last.x)},${roundToTenth(last.y)}` : "";
  return `M${roundToTenth(first.x)},${roundToTenth(first.y)} ${curves.join(" ")}${straight}`;
}

function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
