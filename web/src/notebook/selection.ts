// Which cell is selected, and whether it is being edited.

import { cellOf } from "./cellSelectors";
import type { NotebookContext } from "./notebookContext";
import { type CaretSelection, withId } from "./viewState";

/**
 * Selects a cell, focuses it and scrolls to it. With quietly it only selects the cell, for one that
 * the user has just clicked.
 */
export function selectCell({ view }: NotebookContext, id: string | null, quietly = false): void {
  const { selected, focusRequests, revealRequests, editing } = view.get();
  if (quietly) {
    view.set({ selected: id, editing: editing && selected === id });
    return;
  }
  view.pendingFocus = id;
  view.set({ selected: id, editing: false, focusRequests: focusRequests + 1, revealRequests: revealRequests + 1 });
}

/**
 * Selects the cell that is step positions after the selected one, or before it if step is negative;
 * at most the last or first cell.
 */
export function selectRelative(context: NotebookContext, step: number): void {
  const { order } = context.store.get().notebook;
  const at = selectedIndex(context);
  const next = order[at < 0 ? 0 : Math.min(Math.max(at + step, 0), order.length - 1)];
  if (next !== undefined) selectCell(context, next);
}

/** Returns the index of the selected cell; -1 if none is selected. */
export function selectedIndex({ store, view }: NotebookContext): number {
  const { selected } = view.get();
  return selected === null ? -1 : store.get().notebook.order.indexOf(selected);
}

/**
 * Opens the editor of the given or the selected cell with the caret at a selection; null means at
 * its last position.
 */
export function openCellEditor(
  context: NotebookContext,
  id = context.view.get().selected,
  caret: CaretSelection | null = null,
): void {
  const { view, store } = context;
  if (id === null || context.commands() === null || cellOf(store.get(), id) === null) return;
  const { focusRequests, revealRequests, cellsWithEditor } = view.get();
  view.pendingCaret = caret;
  view.pendingFocus = id;
  view.set({
    selected: id,
    editing: true,
    focusRequests: focusRequests + 1,
    revealRequests: caret === null ? revealRequests + 1 : revealRequests,
    cellsWithEditor: withId(cellsWithEditor, id),
  });
}

/** Closes the editor of the selected cell and focuses the cell. */
export function closeCellEditor({ view }: NotebookContext): void {
  view.pendingFocus = view.get().selected;
  view.set({ editing: false, focusRequests: view.get().focusRequests + 1 });
}

/**
 * Selects a cell, or opens its editor, as soon as the notebook contains it. Does nothing if the
 * user moves the focus first.
 */
export function selectCellWhenPresent(context: NotebookContext, id: string, editing: boolean): void {
  whenCellPresent(context, id, () => (editing ? openCellEditor(context, id) : selectCell(context, id)));
}

/** How many milliseconds to wait for a cell that a link leads to. */
const jumpTimeoutMs = 1500;

/**
 * Selects a cell and highlights it briefly. Shows a note if the notebook does not contain the cell
 * within 1.5 s.
 */
export function jumpToCell(context: NotebookContext, id: string): void {
  const { view } = context;
  const stop = whenCellPresent(context, id, () => {
    selectCell(context, id);
    view.set({ jumpHighlight: { id, count: (view.get().jumpHighlight?.count ?? 0) + 1 } });
  });
  if (stop === null) return;
  setTimeout(() => {
    if (stop()) view.set({ note: { tone: "neutral", text: "That cell is not in the notebook." } });
  }, jumpTimeoutMs);
}

/**
 * Calls go as soon as the notebook contains the cell, unless the user moves the focus first.
 * Returns null if it already contained the cell, else a function that stops waiting and returns
 * whether it was still waiting.
 */
function whenCellPresent({ store, view }: NotebookContext, id: string, go: () => void): (() => boolean) | null {
  const { focusRequests } = view.get();
  const there = () => cellOf(store.get(), id) !== null && store.get().notebook.order.includes(id);
  if (there()) {
    go();
    return null;
  }
  let waits = true;
  const stop = () => {
    const waited = waits;
    waits = false;
    unsubscribe();
    return waited;
  };
  const unsubscribe = store.subscribe(() => {
    const elsewhere = view.get().focusRequests !== focusRequests;
    if (!elsewhere && !there()) return;
    stop();
    if (!elsewhere) go();
  });
  return stop;
}

/**
 * Resolves when the order of the cells satisfies the predicate: the notebook's change may arrive
 * after the response to a command.
 */
export function waitForCellOrder({ store }: NotebookContext, is: (order: readonly string[]) => boolean): Promise<void> {
  if (is(store.get().notebook.order)) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = store.subscribe(() => {
      if (!is(store.get().notebook.order)) return;
      stop();
      resolve();
    });
  });
}
