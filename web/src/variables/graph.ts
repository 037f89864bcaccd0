import { anyList, read } from "../json/schema";
import { isObject } from "../json/values";

/** Cells and signals, and what leads from one to the other. */
export interface Graph {
  cells: readonly CellNode[];
  signals: readonly SignalNode[];
  edges: readonly Edge[];
}

export interface CellNode {
  id: string;
  makes: readonly string[];
  reads: readonly string[];
  /** Ids of the cells whose runs make this one run again. */
  after: readonly string[];
}

export interface SignalNode {
  name: string;
  /** Id of the cell that made it; null: none did. */
  maker: string | null;
  /** Ids of the cells that read it. */
  readers: readonly string[];
}

/** From and to are ids of nodes: see cellNode and signalNode. */
export interface Edge {
  from: string;
  to: string;
  /** writes: the cell writes a signal that the other one reads and a third has made. */
  kind: "makes" | "reads" | "writes";
}

export function cellNode(id: string): string {
  return `cell ${id}`;
}

export function signalNode(name: string): string {
  return `signal ${name}`;
}

/** The graph of a reactivity summary's cell_reactivity, whatever it is. */
export function graphOf(reactivity: unknown): Graph {
  const cells = Object.entries(isObject(reactivity) ? reactivity : {}).map(([id, told]) => cellOf(id, told));
  const makers = new Map(cells.flatMap((cell) => cell.makes.map((name) => [name, cell.id] as const)));
  const readers = new Map<string, string[]>();
  for (const { id, reads } of cells) for (const name of reads) readers.set(name, [...(readers.get(name) ?? []), id]);
  const names = [...new Set([...makers.keys(), ...readers.keys()])];
  return {
    cells: [...cells, ...strangers(cells)],
    signals: names.map((name) => ({ name, maker: makers.get(name) ?? null, readers: readers.get(name) ?? [] })),
    edges: cells.flatMap((cell) => edgesOf(cell, makers)),
  };
}

function cellOf(id: string, told: unknown): CellNode {
  const fields = isObject(told) ? told : {};
  return {
    id,
    makes: texts(fields.signals_defined),
    reads: texts(fields.depends_on_signals),
    after: texts(fields.depends_on_cells),
  };
}

function texts(value: unknown): string[] {
  return [...new Set(read(anyList, value).filter((item) => typeof item === "string"))];
}

/** Cells that others depend on and that are not told of themselves. */
function strangers(cells: readonly CellNode[]): CellNode[] {
  const known = new Set(cells.map((cell) => cell.id));
  const others = new Set(cells.flatMap((cell) => cell.after).filter((id) => !known.has(id)));
  return [...others].map((id) => ({ id, makes: [], reads: [], after: [] }));
}

function edgesOf({ id, makes, reads, after }: CellNode, makers: ReadonlyMap<string, string>): Edge[] {
  const to = cellNode(id);
  const made = new Set(reads.map((name) => makers.get(name)));
  return [
    ...makes.map((name): Edge => ({ from: to, to: signalNode(name), kind: "makes" })),
    ...reads.map((name): Edge => ({ from: signalNode(name), to, kind: "reads" })),
    ...after.filter((other) => !made.has(other)).map((other): Edge => ({ from: cellNode(other), to, kind: "writes" })),
  ];
}

/** The graph without the signals that no cell reads, such as most widgets, and the cells that make only those. */
export function whatIsRead({ cells, signals, edges }: Graph): Graph {
  const read = signals.filter((signal) => signal.readers.length > 0);
  const kept = new Set(read.map((signal) => signalNode(signal.name)));
  const lines = edges.filter((edge) => edge.kind !== "makes" || kept.has(edge.to));
  const tied = new Set(lines.flatMap((edge) => [edge.from, edge.to]));
  return { cells: cells.filter((cell) => tied.has(cellNode(cell.id))), signals: read, edges: lines };
}

/** What a signal is called in the graph: a widget by its key within its cell. */
export function signalLabel({ name, maker }: SignalNode): string {
  return maker !== null && name.startsWith(`${maker}/`) ? name.slice(maker.length + 1) : name;
}
