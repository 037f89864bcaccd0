// Creating, deleting, moving and changing cells.

import type { CellType } from "../protocol/messages";
import { cellOf } from "./cellSelectors";
import { type DeletedCell, deletedCellOf, restoreIndexOfCell } from "./deletedCells";
import type { BufferedKeyBatch } from "./keyBuffer";
import type { NotebookContext } from "./notebookContext";
import { selectCell, selectCellWhenPresent, selectedIndex, waitForCellOrder } from "./selection";

/** Returns an error handler that shows a note with the action's name and the error's message. */
function noteErrorHandler({ view }: NotebookContext, action: string): (error: unknown) => void {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    view.set({ note: { tone: "bad", text: `${action}: ${why}` } });
  };
}

/** Returns an error handler that shows a note and drops the keys that were buffered for the failed change. */
function noteErrorAndDropKeysHandler(context: NotebookContext, action: string): (error: unknown) => void {
  const show = noteErrorHandler(context, action);
  return (error) => {
    context.keyBuffer.stop();
    show(error);
  };
}

/**
 * Selects the selected cell again after a change has arrived, so that it receives the keys that
 * were buffered for the change. Does nothing if a newer change has begun.
 */
function reselectForBufferedKeys(context: NotebookContext, held: BufferedKeyBatch | null): void {
  if (held === null || context.keyBuffer.current() !== held) return;
  const { selected, editing } = context.view.get();
  if (selected === null || editing) context.keyBuffer.stop();
  else selectCell(context, selected);
}

/** Creates an empty cell at a position and selects it. With editing, also opens its editor. */
export function createCell(context: NotebookContext, position: number, type: CellType, editing = false): void {
  const commands = context.commands();
  if (commands === null) return;
  const why = commands.addProblem ?? null;
  if (why !== null) {
    context.view.set({ note: { tone: "neutral", text: why } });
    return;
  }
  context.keyBuffer.start();
  commands
    .createCell(position, type, "")
    .then((id) => selectCellWhenPresent(context, id, editing))
    .catch(noteErrorAndDropKeysHandler(context, "The cell could not be created"));
}

/**
 * Creates an empty code cell above (0) or below (1) the given or the selected cell; at the end if
 * there is neither.
 */
export function insertCell(
  context: NotebookContext,
  below: 0 | 1,
  id = context.view.get().selected,
  editing = false,
): void {
  const { order } = context.store.get().notebook;
  const at = id === null ? -1 : order.indexOf(id);
  createCell(context, at < 0 ? order.length : at + below, "code", editing);
}

/** Deletes the given or the selected cell. The user can restore it with restoreCell. */
export function deleteCell(context: NotebookContext, id = context.view.get().selected): void {
  const { store, drafts, deletedCells, view, pendingDeletions } = context;
  const commands = context.commands();
  if (id === null || commands === null || pendingDeletions.has(id)) return;
  const removed = deletedCellOf(store.get(), id, drafts.text(id));
  if (removed === null) return;
  pendingDeletions.add(id);
  deletedCells.add(removed);
  const held = context.keyBuffer.start();
  commands
    .deleteCell(id)
    .then(() =>
      waitForCellOrder(context, (order) => !order.includes(id)).then(() => {
        view.set({ note: { tone: "neutral", text: "Cell deleted.", deletedCell: removed } });
        reselectForBufferedKeys(context, held);
      }),
    )
    .catch((error) => {
      pendingDeletions.delete(id);
      noteErrorAndDropKeysHandler(context, "The cell could not be deleted")(error);
    });
}

/** Restores the given deleted cell, or the one that was deleted last. */
export function restoreCell(context: NotebookContext, which?: DeletedCell): void {
  const { store, deletedCells, view } = context;
  const commands = context.commands();
  if (commands === null) return;
  const { order } = store.get().notebook;
  const removed = deletedCells.take(order, which);
  if (removed === null) {
    view.set({ note: { tone: "neutral", text: "No deleted cell to restore." } });
    return;
  }
  const position = restoreIndexOfCell(removed, order);
  context.keyBuffer.start();
  commands
    .createCell(position, removed.type, removed.source, removed.title)
    .then((id) => {
      deletedCells.replaceId(removed.id, id);
      if (removed.hadOutputs) {
        view.set({ note: { tone: "neutral", text: "Cell restored. Run it again for its outputs." } });
      } else if (view.get().note?.deletedCell === removed) view.set({ note: null });
      selectCellWhenPresent(context, id, false);
    })
    .catch((error) => {
      deletedCells.add(removed);
      noteErrorAndDropKeysHandler(context, "The cell could not be restored")(error);
    });
}

/** Changes the type (code or markdown) of the given or the selected cell. */
export function changeCellType(context: NotebookContext, type: CellType, id = context.view.get().selected): void {
  const commands = context.commands();
  if (id === null || commands === null || context.pendingDeletions.has(id)) return;
  const cell = cellOf(context.store.get(), id);
  if (cell === null || cell.type === type) return;
  context.pendingDeletions.add(id);
  context.keyBuffer.start();
  commands
    .changeType(id, type)
    .then((fresh) => selectCellWhenPresent(context, fresh, false))
    .catch((error) => {
      context.pendingDeletions.delete(id);
      noteErrorAndDropKeysHandler(context, "The cell's type could not be changed")(error);
    });
}

/** Moves a cell to a position, which is counted without the cell itself. */
export function moveCellTo(context: NotebookContext, id: string, position: number): void {
  const { order } = context.store.get().notebook;
  const from = order.indexOf(id);
  if (from < 0 || position === from || position < 0 || position >= order.length) return;
  const commands = context.commands();
  if (commands === null) return;
  // While a text is being edited, keys go on being typed into it.
  const held = context.view.get().editing ? null : context.keyBuffer.start();
  commands
    .moveCell(id, position)
    .then(() => waitForCellOrder(context, (order) => order.indexOf(id) !== from))
    .then(() => {
      context.view.set({ revealRequests: context.view.get().revealRequests + 1 });
      reselectForBufferedKeys(context, held);
    })
    .catch(noteErrorAndDropKeysHandler(context, "The cell could not be moved"));
}

/** Moves the given or the selected cell up (-1) or down (1). */
export function moveCellBy(context: NotebookContext, step: -1 | 1, id = context.view.get().selected): void {
  const at = id === null ? -1 : context.store.get().notebook.order.indexOf(id);
  if (id !== null && at >= 0) moveCellTo(context, id, at + step);
}

/** Selects the next cell; after the last one, creates a cell and opens its editor. */
export function selectNextOrCreate(context: NotebookContext): void {
  const { order } = context.store.get().notebook;
  const at = selectedIndex(context);
  const next = order[at + 1];
  if (next !== undefined) selectCell(context, next);
  else createCell(context, order.length, "code", true);
}
