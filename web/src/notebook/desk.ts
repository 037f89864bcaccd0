// All that one notebook on the screen is made of beside its cells.

import { createContext, useContext, useSyncExternalStore } from "react";
import type { Commands } from "../commands/commands";
import type { Store } from "../store/store";
import { createDrafts, type Drafts } from "./drafts";
import { createHold, type Hold } from "./hold";
import { type Bin, createBin } from "./removed";
import { createTouches, type Touches } from "./touches";
import { createView, type View, type ViewState } from "./view";

export interface Desk {
  store: Store;
  view: View;
  drafts: Drafts;
  bin: Bin;
  touches: Touches;
  hold: Hold;
  /** null: the notebook is only looked at. */
  commands(): Commands | null;
  /** Ids of cells that this screen has asked to be gone, so that nobody is told of it. */
  leaving: Set<string>;
  /** The key that was pressed last and may be the first of two, and when (milliseconds); null: none. */
  chord: { name: string; at: number } | null;
}

/** commands gives what may be done at the moment that it is called. */
export function createDesk(store: Store, commands: () => Commands | null): Desk {
  return {
    store,
    view: createView(),
    drafts: createDrafts(store, (id, text) => commands()?.editCell(id, text)),
    bin: createBin(),
    touches: createTouches(store),
    hold: createHold(),
    commands,
    leaving: new Set(),
    chord: null,
  };
}

const DeskContext = createContext<Desk | null>(null);

export const DeskProvider = DeskContext.Provider;

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === null) throw new Error("no Notebook above");
  return desk;
}

/** What select picks of the view; the component is drawn again when that is another (by Object.is). */
export function useView<T>(select: (state: ViewState) => T): T {
  const { view } = useDesk();
  return useSyncExternalStore(view.subscribe, () => select(view.get()));
}

/** What pick makes of the text of the cell, as this screen has it; drawn again when that is another. */
export function useText<T>(id: string, pick: (text: string) => T): T {
  const { store, drafts } = useDesk();
  return useSyncExternalStore(
    (f) => {
      const stops = [store.subscribe(f), drafts.subscribe(f)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => pick(drafts.text(id)),
  );
}
