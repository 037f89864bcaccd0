// Which cell is selected, and whether its text is being edited.

import type { Desk } from "./desk";
import { cellOf } from "./text";
import { type Caret, withId } from "./view";

/** Selects the cell. It takes the focus and comes into view, unless quietly: where the person has just clicked it. */
export function select({ view }: Desk, id: string | null, quietly = false): void {
  const { selected, focus, reveal, editing } = view.get();
  if (quietly) {
    view.set({ selected: id, editing: editing && selected === id });
    return;
  }
  view.wants = id;
  view.set({ selected: id, editing: false, focus: focus + 1, reveal: reveal + 1 });
}

/** Selects the cell that is so many places further, if there is one. */
export function selectBy(desk: Desk, step: number): void {
  const { order } = desk.store.get().notebook;
  const at = placeOfSelected(desk);
  const next = order[at < 0 ? 0 : Math.min(Math.max(at + step, 0), order.length - 1)];
  if (next !== undefined) select(desk, next);
}

/** The place of the selected cell; -1: none is selected. */
export function placeOfSelected({ store, view }: Desk): number {
  const { selected } = view.get();
  return selected === null ? -1 : store.get().notebook.order.indexOf(selected);
}

/** Opens the text of the cell, or of the selected one, with the caret where the person clicked; null: where it was last. */
export function edit(desk: Desk, id = desk.view.get().selected, caret: Caret | null = null): void {
  const { view, store } = desk;
  if (id === null || desk.commands() === null || cellOf(store.get(), id) === null) return;
  const { focus, reveal, live } = view.get();
  view.caret = caret;
  view.wants = id;
  view.set({
    selected: id,
    editing: true,
    focus: focus + 1,
    reveal: caret === null ? reveal + 1 : reveal,
    live: withId(live, id),
  });
}

/** From the text back to the cell. */
export function leave({ view }: Desk): void {
  view.wants = view.get().selected;
  view.set({ editing: false, focus: view.get().focus + 1 });
}

/**
 * Selects a cell that is about to appear, or opens its text. When the person goes
 * elsewhere before it is there, it stays unselected.
 */
export function selectWhenThere(desk: Desk, id: string, editing: boolean): void {
  whenThere(desk, id, () => (editing ? edit(desk, id) : select(desk, id)));
}

/** A cell that a link leads to and that is not there by then, in milliseconds, does not come any more. */
const jumpMs = 1500;

/** Selects the cell and marks it: a person was led there. */
export function jump(desk: Desk, id: string): void {
  const { view } = desk;
  const stop = whenThere(desk, id, () => {
    select(desk, id);
    view.set({ flash: { id, count: (view.get().flash?.count ?? 0) + 1 } });
  });
  if (stop === null) return;
  setTimeout(() => {
    if (stop()) view.set({ note: { tone: "neutral", text: "That cell is not in the notebook." } });
  }, jumpMs);
}

/**
 * Calls go as soon as the cell is there, unless the person goes elsewhere first.
 * Returns null when it was there, else what stops the waiting, and tells whether
 * it still went on.
 */
function whenThere({ store, view }: Desk, id: string, go: () => void): (() => boolean) | null {
  const { focus } = view.get();
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
    const elsewhere = view.get().focus !== focus;
    if (!elsewhere && !there()) return;
    stop();
    if (!elsewhere) go();
  });
  return stop;
}

/** Resolves as soon as the notebook has such an order of cells: what was asked for may come after its answer. */
export function whenOrder({ store }: Desk, is: (order: readonly string[]) => boolean): Promise<void> {
  if (is(store.get().notebook.order)) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = store.subscribe(() => {
      if (!is(store.get().notebook.order)) return;
      stop();
      resolve();
    });
  });
}
