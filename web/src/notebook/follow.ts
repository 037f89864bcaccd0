// What happens here when the notebook changes, whoever has changed it.

import type { State } from "../store/state";
import type { Desk } from "./desk";
import { type Removed, removedCell } from "./removed";
import { withoutId } from "./view";

/** Keeps selection and drafts with the cells that there are, until what it returns is called. */
export function followNotebook(desk: Desk): () => void {
  const { store, drafts } = desk;
  let before = store.get();
  const stopDrafts = drafts.follow();
  const stop = store.subscribe(() => {
    const now = store.get();
    const known = before;
    before = now;
    if (now.notebook.order !== known.notebook.order) settle(desk, known, now);
  });
  return () => {
    stopDrafts();
    stop();
  };
}

function settle(desk: Desk, before: State, now: State): void {
  const there = new Set(now.notebook.order);
  const gone = before.notebook.order.filter((id) => !there.has(id));
  if (gone.length === 0) return;
  const lost = gone.map((id) => lostWork(desk, before, id)).filter((removed) => removed !== null);
  moveSelection(desk, before.notebook.order, there);
  for (const id of gone) forget(desk, id);
  const removed = lost.at(-1);
  if (removed === undefined) return;
  for (const each of lost) {
    desk.bin.put(each);
    desk.commands()?.keptInNotebook?.(each.id);
  }
  desk.view.set({ note: { tone: "neutral", text: "The cell that you were writing in was deleted.", removed } });
}

/** The cell, when somebody else has deleted it while a person wrote in it. */
function lostWork(desk: Desk, before: State, id: string): Removed | null {
  const { drafts, view, leaving } = desk;
  const { selected, editing } = view.get();
  if (leaving.has(id) || desk.commands() === null) return null;
  const writing = drafts.unsaved(id) || (editing && selected === id);
  return writing ? removedCell(before, id, drafts.text(id)) : null;
}

/** To the next cell that is still there, else to the one before. */
function moveSelection({ view }: Desk, order: readonly string[], there: ReadonlySet<string>): void {
  const { selected } = view.get();
  if (selected === null || there.has(selected)) return;
  const at = order.indexOf(selected);
  const next = order.slice(at).find((id) => there.has(id)) ?? order.slice(0, at).findLast((id) => there.has(id));
  view.set({ selected: next ?? null, editing: false, reveal: view.get().reveal + 1 });
}

function forget({ view, drafts, leaving }: Desk, id: string): void {
  const { live, folded, hit, hovered } = view.get();
  drafts.drop(id);
  leaving.delete(id);
  view.set({
    live: withoutId(live, id),
    folded: withoutId(folded, id),
    hit: hit?.id === id ? null : hit,
    hovered: hovered === id ? null : hovered,
  });
}
