// Reacts to changes of the notebook by anybody.

import type { State } from "../store/state";
import { type DeletedCell, deletedCellOf } from "./deletedCells";
import type { NotebookContext } from "./notebookContext";
import { withoutId } from "./viewState";

/**
 * Updates the selection and the drafts when cells are deleted. Stops when the returned function is
 * called.
 */
export function followNotebook(context: NotebookContext): () => void {
  const { store, drafts } = context;
  let before = store.get();
  const stopDrafts = drafts.followStore();
  const stop = store.subscribe(() => {
    const now = store.get();
    const known = before;
    before = now;
    if (now.notebook.order !== known.notebook.order) handleRemovedCells(context, known, now);
  });
  return () => {
    stopDrafts();
    stop();
  };
}

function handleRemovedCells(context: NotebookContext, before: State, now: State): void {
  const present = new Set(now.notebook.order);
  const removedIds = before.notebook.order.filter((id) => !present.has(id));
  if (removedIds.length === 0) return;
  const editedCells = removedIds
    .map((id) => cellDeletedWhileEdited(context, before, id))
    .filter((removed) => removed !== null);
  moveSelectionFromDeletedCell(context, before.notebook.order, present);
  for (const id of removedIds) forgetDeletedCell(context, id);
  const removed = editedCells.at(-1);
  if (removed === undefined) return;
  for (const each of editedCells) {
    context.deletedCells.add(each);
    context.commands()?.keptInNotebook?.(each.id);
  }
  context.view.set({ note: { tone: "neutral", text: "The cell you were editing was deleted.", deletedCell: removed } });
}

/** Returns the cell if somebody else deleted it while the user was editing it; else null. */
function cellDeletedWhileEdited(context: NotebookContext, before: State, id: string): DeletedCell | null {
  const { drafts, view, pendingDeletions } = context;
  const { selected, editing } = view.get();
  if (pendingDeletions.has(id) || context.commands() === null) return null;
  const writing = drafts.hasUnsavedText(id) || (editing && selected === id);
  return writing ? deletedCellOf(before, id, drafts.text(id)) : null;
}

/** Moves the selection from a deleted cell to the next remaining cell, else to the previous one. */
function moveSelectionFromDeletedCell(
  { view }: NotebookContext,
  order: readonly string[],
  present: ReadonlySet<string>,
): void {
  const { selected } = view.get();
  if (selected === null || present.has(selected)) return;
  const at = order.indexOf(selected);
  const next = order.slice(at).find((id) => present.has(id)) ?? order.slice(0, at).findLast((id) => present.has(id));
  view.set({ selected: next ?? null, editing: false, revealRequests: view.get().revealRequests + 1 });
}

function forgetDeletedCell({ view, drafts, pendingDeletions }: NotebookContext, id: string): void {
  const { cellsWithEditor, cellsWithHiddenOutputs, searchHit, hovered } = view.get();
  drafts.discard(id);
  pendingDeletions.delete(id);
  view.set({
    cellsWithEditor: withoutId(cellsWithEditor, id),
    cellsWithHiddenOutputs: withoutId(cellsWithHiddenOutputs, id),
    searchHit: searchHit?.id === id ? null : searchHit,
    hovered: hovered === id ? null : hovered,
  });
}
