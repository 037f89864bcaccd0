import { graphlib, layout as place } from "@dagrejs/dagre";
import { cellNode, type Edge, type Graph, signalNode } from "./graph";

/** Where the parts of a graph are drawn, in pixels. */
export interface Layout {
  width: number;
  height: number;
  /** By id of the node. */
  boxes: ReadonlyMap<string, Box>;
  lines: readonly Line[];
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Line extends Edge {
  /** A path of SVG. */
  path: string;
}

interface Point {
  x: number;
  y: number;
}

const cellSize = { width: 168, height: 46 };
const signalSize = { width: 124, height: 26 };

// A cell that makes more signals than this has straight lines to them, which take no
// part in the layout: ways around all the cells in between cost seconds.
const mostMade = 8;

/** Lays a graph out from top to bottom, makers above readers. */
export function layoutOf({ cells, signals, edges }: Graph): Layout {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", ranker: "tight-tree", nodesep: 14, ranksep: 26, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of cells) graph.setNode(cellNode(id), { ...cellSize });
  for (const { name } of signals) graph.setNode(signalNode(name), { ...signalSize });
  const made = countMade(edges);
  const straight = ({ from, kind }: Edge) => kind === "makes" && (made.get(from) ?? 0) > mostMade;
  edges.forEach((edge, index) => {
    if (!straight(edge)) graph.setEdge(edge.from, edge.to, {}, String(index));
  });
  place(graph);
  const { width = 0, height = 0 } = graph.graph();
  const boxes = new Map(graph.nodes().map((id) => [id, boxOf(graph.node(id))]));
  const lines = edges.map((edge, index) => {
    const points = straight(edge)
      ? between(boxes.get(edge.from), boxes.get(edge.to))
      : graph.edge(edge.from, edge.to, String(index)).points;
    return { ...edge, path: pathOf(points ?? []) };
  });
  return { width, height, boxes, lines };
}

/** How many signals each node makes. */
function countMade(edges: readonly Edge[]): Map<string, number> {
  const made = new Map<string, number>();
  for (const { from, kind } of edges) if (kind === "makes") made.set(from, (made.get(from) ?? 0) + 1);
  return made;
}

/** From the lower edge of a box to the upper one of another. */
function between(from: Box | undefined, to: Box | undefined): Point[] {
  if (from === undefined || to === undefined) return [];
  return [
    { x: from.left + from.width / 2, y: from.top + from.height },
    { x: to.left + to.width / 2, y: to.top },
  ];
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Point & Box>): Box {
  return { left: x - width / 2, top: y - height / 2, width, height };
}

/** A line through the points, rounded in between. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return "";
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const [x, y] = index === rest.length - 2 ? [next.x, next.y] : [(point.x + next.x) / 2, (point.y + next.y) / 2];
    return `Q${round(point.x)},${round(point.y)} ${round(x)},${round(y)}`;
  });
  const straight = rest.length === 1 ? `L${round(last.x)},${round(last.y)}` : "";
  return `M${round(first.x)},${round(first.y)} ${curves.join(" ")}${straight}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
