// Making, deleting, moving and changing cells.

import type { CellType } from "../protocol/messages";
import type { Desk } from "./desk";
import type { Held } from "./hold";
import { placeOf, type Removed, removedCell } from "./removed";
import { placeOfSelected, select, selectWhenThere, whenOrder } from "./select";
import { cellOf } from "./text";

/** Shows what went wrong. */
function tellError({ view }: Desk, doing: string): (error: unknown) => void {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    view.set({ note: { tone: "bad", text: `${doing}: ${why}` } });
  };
}

/** The same, of a change that keys wait for. */
function failed(desk: Desk, doing: string): (error: unknown) => void {
  const tell = tellError(desk, doing);
  return (error) => {
    desk.hold.end();
    tell(error);
  };
}

/** The change is there: the keys that waited for it, and no other, go to the selected cell. */
function goOnWith(desk: Desk, held: Held | null): void {
  if (held === null || desk.hold.now() !== held) return;
  const { selected, editing } = desk.view.get();
  if (selected === null || editing) desk.hold.end();
  else select(desk, selected);
}

/** Makes an empty cell at the place and selects it. */
export function create(desk: Desk, position: number, type: CellType, editing = false): void {
  const commands = desk.commands();
  if (commands === null) return;
  const why = commands.addProblem ?? null;
  if (why !== null) {
    desk.view.set({ note: { tone: "neutral", text: why } });
    return;
  }
  desk.hold.begin();
  commands
    .createCell(position, type, "")
    .then((id) => selectWhenThere(desk, id, editing))
    .catch(failed(desk, "The cell could not be made"));
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
  bin.put(removed);
  const held = desk.hold.begin();
  commands
    .deleteCell(id)
    .then(() =>
      whenOrder(desk, (order) => !order.includes(id)).then(() => {
        view.set({ note: { tone: "neutral", text: "Cell deleted.", removed } });
        goOnWith(desk, held);
      }),
    )
    .catch((error) => {
      leaving.delete(id);
      failed(desk, "The cell could not be deleted")(error);
    });
}

/** Brings the cell that was deleted last, or the given one, back. */
export function restore(desk: Desk, which?: Removed): void {
  const { store, bin, view } = desk;
  const commands = desk.commands();
  if (commands === null) return;
  const { order } = store.get().notebook;
  const removed = bin.take(order, which);
  if (removed === null) {
    view.set({ note: { tone: "neutral", text: "No deleted cell is left to bring back." } });
    return;
  }
  const position = placeOf(removed, order);
  desk.hold.begin();
  commands
    .createCell(position, removed.type, removed.source, removed.title)
    .then((id) => {
      bin.rename(removed.id, id);
      if (removed.hadOutputs) {
        view.set({ note: { tone: "neutral", text: "Cell brought back. Run it again for its outputs." } });
      } else if (view.get().note?.removed === removed) view.set({ note: null });
      selectWhenThere(desk, id, false);
    })
    .catch((error) => {
      bin.put(removed);
      failed(desk, "The cell could not be brought back")(error);
    });
}

/** Makes the cell, or the selected one, a cell of that type. */
export function changeType(desk: Desk, type: CellType, id = desk.view.get().selected): void {
  const commands = desk.commands();
  if (id === null || commands === null || desk.leaving.has(id)) return;
  const cell = cellOf(desk.store.get(), id);
  if (cell === null || cell.type === type) return;
  desk.leaving.add(id);
  desk.hold.begin();
  commands
    .changeType(id, type)
    .then((fresh) => selectWhenThere(desk, fresh, false))
    .catch((error) => {
      desk.leaving.delete(id);
      failed(desk, "The cell's type could not be changed")(error);
    });
}

/** Moves the cell to the place that it shall have when it has been taken out. */
export function moveTo(desk: Desk, id: string, position: number): void {
  const { order } = desk.store.get().notebook;
  const from = order.indexOf(id);
  if (from < 0 || position === from || position < 0 || position >= order.length) return;
  const commands = desk.commands();
  if (commands === null) return;
  // In a text keys go on writing, wherever it moves.
  const held = desk.view.get().editing ? null : desk.hold.begin();
  commands
    .moveCell(id, position)
    .then(() => whenOrder(desk, (order) => order.indexOf(id) !== from))
    .then(() => {
      desk.view.set({ reveal: desk.view.get().reveal + 1 });
      goOnWith(desk, held);
    })
    .catch(failed(desk, "The cell could not be moved"));
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
