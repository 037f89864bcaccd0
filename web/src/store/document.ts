import { type Fields, isAbsent, isObject } from "../json/read";
import type { By, WireCell } from "../protocol/messages";
import type { CellsDraft } from "./cellsDraft";
import type { Draft } from "./draft";
import { restoreRuns } from "./restore";
import type { Cell } from "./state";

/** Takes in a notebook_event that is entry seq, of that time of day. One that does not fit changes nothing. */
export function foldEvent(draft: Draft, seq: number, event: Fields, wall?: unknown): void {
  const touched = touchedBy(event.by, seq, wall);
  switch (event.event) {
    case "cell_created":
      create(draft.cells, event, touched);
      return;
    case "cell_edited":
      edit(draft.cells, event, touched);
      return;
    case "cell_deleted":
      if (typeof event.cell_id === "string" && draft.cells.get(event.cell_id)) draft.cells.remove(event.cell_id);
      return;
    case "cell_moved":
      move(draft.cells, event);
      return;
    case "notebook_restored":
      restored(draft, event.state);
      return;
  }
}

function touchedBy(by: unknown, seq: number, wall?: unknown): Pick<Cell, "touched"> {
  if (!isBy(by)) return {};
  const at = typeof wall === "string" ? Date.parse(wall) : Number.NaN;
  return { touched: { by, seq, ...(Number.isNaN(at) ? {} : { at }) } };
}

function isBy(by: unknown): by is By {
  return by === "agent" || by === "console" || by === "server";
}

function create(cells: CellsDraft, event: Fields, touched: Pick<Cell, "touched">): void {
  const cell = cellOf(event.cell);
  const { position } = event;
  if (cell === null || cells.get(cell.id) !== undefined) return;
  if (isPlace(position, cells.order.length)) cells.insert({ ...withoutTouch(cell), ...touched }, position);
}

function edit(cells: CellsDraft, event: Fields, touched: Pick<Cell, "touched">): void {
  const { cell_id: id, source, rev } = event;
  const cell = typeof id === "string" ? cells.get(id) : undefined;
  if (cell === undefined || typeof source !== "string") return;
  cells.set({ ...withoutTouch(cell), source, rev: Number.isInteger(rev) ? Number(rev) : 0, ...touched });
}

function withoutTouch({ touched: _, ...cell }: Cell): Cell {
  return cell;
}

function move(cells: CellsDraft, event: Fields): void {
  const { cell_id: id, position } = event;
  if (typeof id !== "string" || cells.get(id) === undefined) return;
  if (isPlace(position, cells.order.length - 1)) cells.move(id, position);
}

function isPlace(position: unknown, most: number): position is number {
  return Number.isInteger(position) && Number(position) >= 0 && Number(position) <= most;
}

function restored(draft: Draft, state: unknown): void {
  if (!isObject(state)) return;
  draft.cells.replace(cellsOf(state.cells));
  if (isObject(state.runs)) restoreRuns(draft.runs, state.runs);
}

/** The cells of a list, less those that cannot be read, and those whose id there was already. */
export function cellsOf(list: unknown): Cell[] {
  const cells = new Map<string, Cell>();
  for (const item of Array.isArray(list) ? list : []) {
    const cell = cellOf(item);
    if (cell !== null && !cells.has(cell.id)) cells.set(cell.id, cell);
  }
  return [...cells.values()];
}

function cellOf(wire: unknown): Cell | null {
  if (!isObject(wire)) return null;
  const { cell_id: id, cell_type: type, source, display_name: title, rev, by } = wire as Partial<WireCell>;
  if (typeof id !== "string" || id === "" || (type !== "code" && type !== "markdown")) return null;
  if (!isAbsent(source) && typeof source !== "string") return null;
  return {
    id,
    type,
    source: source ?? "",
    title: typeof title === "string" ? title : "",
    rev: Number.isInteger(rev) ? Number(rev) : 0,
    ...touchedBy(by, 0),
  };
}
