import { anyList, read } from "../json/schema";
import { isObject } from "../json/values";

/** The reactive graph: cells, signals and the edges between them. */
export interface Graph {
  cells: readonly CellNode[];
  signals: readonly SignalNode[];
  edges: readonly GraphEdge[];
}

export interface CellNode {
  id: string;
  defines: readonly string[];
  reads: readonly string[];
  /** Ids of the cells after whose runs this one runs again. */
  runsAfter: readonly string[];
}

export interface SignalNode {
  name: string;
  /** Id of the cell that defines it; null: none does. */
  definedBy: string | null;
  /** Ids of the cells that read it. */
  readers: readonly string[];
}

/** An edge of the reactive graph. from and to are node ids, which cellNodeId and signalNodeId return. */
export interface GraphEdge {
  from: string;
  to: string;
  /** writes: the cell writes a signal that a third cell defines and the other one reads. */
  kind: "makes" | "reads" | "writes";
}

export function cellNodeId(id: string): string {
  return `cell ${id}`;
}

export function signalNodeId(name: string): string {
  return `signal ${name}`;
}

/**
 * Builds the reactive graph from the field cell_reactivity of the kernel's summary. Malformed parts
 * are left out.
 */
export function graphOf(reactivity: unknown): Graph {
  const cells = Object.entries(isObject(reactivity) ? reactivity : {}).map(([id, told]) => cellNodeOf(id, told));
  const makers = new Map(cells.flatMap((cell) => cell.defines.map((name) => [name, cell.id] as const)));
  const readers = new Map<string, string[]>();
  for (const { id, reads } of cells) for (const name of reads) readers.set(name, [...(readers.get(name) ?? []), id]);
  const names = [...new Set([...makers.keys(), ...readers.keys()])];
  return {
    cells: [...cells, ...missingCellNodes(cells)],
    signals: names.map((name) => ({ name, definedBy: makers.get(name) ?? null, readers: readers.get(name) ?? [] })),
    edges: cells.flatMap((cell) => edgesOf(cell, makers)),
  };
}

function cellNodeOf(id: string, told: unknown): CellNode {
  const fields = isObject(told) ? told : {};
  return {
    id,
    defines: uniqueStrings(fields.signals_defined),
    reads: uniqueStrings(fields.depends_on_signals),
    runsAfter: uniqueStrings(fields.depends_on_cells),
  };
}

function uniqueStrings(value: unknown): string[] {
  return [...new Set(read(anyList, value).filter((item) => typeof item === "string"))];
}

/** Returns nodes for cells that other cells depend on but that the kernel's summary does not list. */
function missingCellNodes(cells: readonly CellNode[]): CellNode[] {
  const known = new Set(cells.map((cell) => cell.id));
  const others = new Set(cells.flatMap((cell) => cell.runsAfter).filter((id) => !known.has(id)));
  return [...others].map((id) => ({ id, defines: [], reads: [], runsAfter: [] }));
}

function edgesOf({ id, defines, reads, runsAfter }: CellNode, makers: ReadonlyMap<string, string>): GraphEdge[] {
  const to = cellNodeId(id);
  const made = new Set(reads.map((name) => makers.get(name)));
  return [
    ...defines.map((name): GraphEdge => ({ from: to, to: signalNodeId(name), kind: "makes" })),
    ...reads.map((name): GraphEdge => ({ from: signalNodeId(name), to, kind: "reads" })),
    ...runsAfter
      .filter((other) => !made.has(other))
      .map((other): GraphEdge => ({ from: cellNodeId(other), to, kind: "writes" })),
  ];
}

/**
 * Returns the graph without signals that no cell reads, such as those of most widgets, and without
 * cells that only define such signals.
 */
export function withoutUnreadSignals({ cells, signals, edges }: Graph): Graph {
  const read = signals.filter((signal) => signal.readers.length > 0);
  const kept = new Set(read.map((signal) => signalNodeId(signal.name)));
  const lines = edges.filter((edge) => edge.kind !== "makes" || kept.has(edge.to));
  const tied = new Set(lines.flatMap((edge) => [edge.from, edge.to]));
  return { cells: cells.filter((cell) => tied.has(cellNodeId(cell.id))), signals: read, edges: lines };
}

/** Returns the label of a signal: its name, or for a widget the key within its cell. */
export function signalLabel({ name, definedBy }: SignalNode): string {
  return definedBy !== null && name.startsWith(`${definedBy}/`) ? name.slice(definedBy.length + 1) : name;
}
