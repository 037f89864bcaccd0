// Making, deleting, moving and changing cells.

import type { CellType } from "../protocol/messages";
import type { Desk } from "./desk";
import { placeOf, type Removed, removedCell } from "./removed";
import { placeOfSelected, select, selectWhenThere } from "./select";
import { cellOf } from "./text";

/** Shows what went wrong. */
export function tellError({ view }: Desk, doing: string): (error: unknown) => void {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    view.set({ note: { tone: "bad", text: `${doing}: ${why}` } });
  };
}

/** Makes an empty cell at the place and selects it. */
export function create(desk: Desk, position: number, type: CellType, editing = false): void {
  const commands = desk.commands();
  if (commands === null) return;
  const held = desk.hold.begin(editing);
  commands
    .createCell(position, type, "")
    .then((id) => selectWhenThere(desk, id, () => held.editing))
    .catch((error) => {
      desk.hold.end();
      tellError(desk, "The cell could not be made")(error);
    });
}

/** Makes an empty cell above (0) or below (1) the cell, or the selected one; at the end where there is none. */
export function insert(desk: Desk, below: 0 | 1, id = desk.view.get().selected, editing = false): void {
  const { order } = desk.store.get().notebook;
  const at = id === null ? -1 : order.indexOf(id);
  create(desk, at < 0 ? order.length : at + below, "code", editing);
}

/** Deletes the cell, or the selected one. It can be brought back. */
export function remove(desk: Desk, id = desk.view.get().selected): void {
  const { store, drafts, bin, view, leaving } = desk;
  const commands = desk.commands();
  if (id === null || commands === null || leaving.has(id)) return;
  const removed = removedCell(store.get(), id, drafts.text(id));
  if (removed === null) return;
  leaving.add(id);
  commands
    .deleteCell(id)
    .then(() => {
      bin.put(removed);
      view.set({ note: { tone: "neutral", text: "Cell deleted.", removed } });
    })
    .catch((error) => {
      leaving.delete(id);
      tellError(desk, "The cell could not be deleted")(error);
    });
}

/** Brings the cell that was deleted last, or the given one, back. */
export function restore(desk: Desk, which?: Removed): void {
  const { store, bin, view } = desk;
  const commands = desk.commands();
  if (commands === null) return;
  const removed = bin.take(which);
  if (removed === null) {
    view.set({ note: { tone: "neutral", text: "No deleted cell is left to bring back." } });
    return;
  }
  const position = placeOf(removed, store.get().notebook.order);
  commands
    .createCell(position, removed.type, removed.source, removed.title)
    .then((id) => {
      bin.rename(removed.id, id);
      if (removed.hadOutputs) {
        view.set({ note: { tone: "neutral", text: "Cell brought back. Run it again for its outputs." } });
      } else if (view.get().note?.removed === removed) view.set({ note: null });
      selectWhenThere(desk, id, () => false);
    })
    .catch((error) => {
      bin.put(removed);
      tellError(desk, "The cell could not be brought back")(error);
    });
}

/** Makes the cell, or the selected one, a cell of that type. */
export function changeType(desk: Desk, type: CellType, id = desk.view.get().selected): void {
  const commands = desk.commands();
  if (id === null || commands === null || desk.leaving.has(id)) return;
  const cell = cellOf(desk.store.get(), id);
  if (cell === null || cell.type === type) return;
  desk.leaving.add(id);
  const held = desk.hold.begin(false);
  commands
    .changeType(id, type)
    .then((fresh) => selectWhenThere(desk, fresh, () => held.editing))
    .catch((error) => {
      desk.hold.end();
      desk.leaving.delete(id);
      tellError(desk, "The cell's type could not be changed")(error);
    });
}

/** Moves the cell to the place that it shall have when it has been taken out. */
export function moveTo(desk: Desk, id: string, position: number): void {
  const { order } = desk.store.get().notebook;
  const from = order.indexOf(id);
  if (from < 0 || position === from || position < 0 || position >= order.length) return;
  desk
    .commands()
    ?.moveCell(id, position)
    .then(() => desk.view.set({ reveal: desk.view.get().reveal + 1 }))
    .catch(tellError(desk, "The cell could not be moved"));
}

/** Moves the selected cell up (-1) or down (1). */
export function moveBy(desk: Desk, step: -1 | 1, id = desk.view.get().selected): void {
  const at = id === null ? -1 : desk.store.get().notebook.order.indexOf(id);
  if (id !== null && at >= 0) moveTo(desk, id, at + step);
}

/** The next cell; behind the last one a new one is made, and its text opened. */
export function goOn(desk: Desk): void {
  const { order } = desk.store.get().notebook;
  const at = placeOfSelected(desk);
  const next = order[at + 1];
  if (next !== undefined) select(desk, next);
  else create(desk, order.length, "code", true);
}
