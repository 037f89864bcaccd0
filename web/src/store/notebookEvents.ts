import type { CellChangeAuthor, MessageOf } from "../protocol/messages";
import type { WireCell } from "../protocol/wire.gen";
import type { CellsDraft } from "./cellsDraft";
import { restoreExecutions } from "./restore";
import type { Cell } from "./state";
import type { StateDraft } from "./stateDraft";

type NotebookEvent = MessageOf<"notebook_event">;

/** Applies a notebook_event, which is entry seq of the time of day `wall`. One that does not fit changes nothing. */
export function applyNotebookEvent(
  draft: StateDraft,
  seq: number,
  event: NotebookEvent,
  wall: string | undefined,
): void {
  const lastChange = lastChangeFields(event.by, seq, wall);
  switch (event.event) {
    case "cell_created":
      createCell(draft.cells, event, lastChange);
      return;
    case "cell_edited":
      editCell(draft.cells, event, lastChange);
      return;
    case "cell_deleted":
      if (event.cell_id !== undefined && draft.cells.get(event.cell_id)) draft.cells.remove(event.cell_id);
      return;
    case "cell_moved":
      moveCell(draft.cells, event);
      return;
    case "notebook_restored":
      restoreNotebook(draft, event);
      return;
  }
}

function lastChangeFields(by: string | undefined, seq: number, wall?: string): Pick<Cell, "lastChange"> {
  if (!isCellChangeAuthor(by)) return {};
  const at = Date.parse(wall ?? "");
  return { lastChange: { by, seq, ...(Number.isNaN(at) ? {} : { at }) } };
}

function isCellChangeAuthor(by: string | undefined): by is CellChangeAuthor {
  return by === "agent" || by === "console" || by === "server";
}

function createCell(
  cells: CellsDraft,
  { cell: wire, position }: NotebookEvent,
  lastChange: Pick<Cell, "lastChange">,
): void {
  const cell = wire === undefined ? null : cellOfWireCell(wire);
  if (cell === null || cells.get(cell.id) !== undefined) return;
  if (isCellPosition(position, cells.order.length))
    cells.insert({ ...withoutLastChange(cell), ...lastChange }, position);
}

function editCell(
  cells: CellsDraft,
  { cell_id, source, rev = 0 }: NotebookEvent,
  lastChange: Pick<Cell, "lastChange">,
): void {
  const cell = cell_id === undefined ? undefined : cells.get(cell_id);
  if (cell === undefined || source === undefined) return;
  cells.set({ ...withoutLastChange(cell), source, rev, ...lastChange });
}

function withoutLastChange({ lastChange: _, ...cell }: Cell): Cell {
  return cell;
}

function moveCell(cells: CellsDraft, { cell_id: id, position }: NotebookEvent): void {
  if (id === undefined || cells.get(id) === undefined) return;
  if (isCellPosition(position, cells.order.length - 1)) cells.move(id, position);
}

function isCellPosition(position: number | undefined, max: number): position is number {
  return position !== undefined && position >= 0 && position <= max;
}

function restoreNotebook(draft: StateDraft, { state }: NotebookEvent): void {
  if (state === undefined) return;
  draft.cells.replaceAll(cellsOfWireCells(state.cells));
  restoreExecutions(draft.executions, state.runs);
}

/** Returns the cells of a list without malformed ones and without repetitions of an id. */
export function cellsOfWireCells(list: readonly WireCell[]): Cell[] {
  const cells = new Map<string, Cell>();
  for (const wire of list) {
    const cell = cellOfWireCell(wire);
    if (cell !== null && !cells.has(cell.id)) cells.set(cell.id, cell);
  }
  return [...cells.values()];
}

function cellOfWireCell(wire: WireCell): Cell | null {
  const { cell_id: id, cell_type: type, source, display_name: title, rev, by } = wire;
  if (id === "" || (type !== "code" && type !== "markdown")) return null;
  return { id, type, source, title, rev, ...lastChangeFields(by, 0) };
}
