import { copyOf } from "../json/record";
import type { Message } from "../protocol/messages";
import type { Store } from "../store/store";
import type { Hands } from "./commandsOf";
import type { Core } from "./core";
import type { Edits } from "./edits";
import { sentEntry } from "./frames";
import type { Keeper } from "./keeper";
import type { Link } from "./link";

export interface HandsConfig {
  core: Core;
  link: Link;
  edits: Edits;
  /** null: there is no notebook yet. */
  keeper(): Keeper | null;
  /** Tells that a cell in conflict was deleted, with the text that a person had typed. */
  lost(text: string): void;
}

/** What commands are carried out with: the connections, and what the page notes of what it sends. */
export function handsOf({ core, link, edits, keeper, lost }: HandsConfig): Hands {
  const note = (message: Message) => {
    core.words.add(message, core.store.get().agent.seq ?? 0);
    core.conversation.add(sentEntry("console>server", message));
  };
  return {
    store: core.store,
    edits,
    act: (action, params) => keeper()?.act(action, params) ?? Promise.reject(new Error("there is no notebook yet")),
    run: (id, typed) => {
      const message = keeper()?.runOf(id, typed);
      if (message === undefined || !link.sendRun(message)) return false;
      core.sent.add(id);
      core.inbox.add({ entry: sentEntry("server>kernel", { type: "run_cell", cell_id: id }) });
      return true;
    },
    askRun: (message) => core.requests.ask((tx) => link.sendRun({ ...message, tx_id: tx, agent_tx_id: tx })),
    sendRun: (message) => {
      const restart = message.type === "managed_process_restart";
      if (restart) keeper()?.restarts();
      const sent = link.sendRun(message);
      if (sent && restart) note(message);
      return sent;
    },
    sendAgent: (message) => {
      const sent = link.sendAgent(message);
      if (sent) note(message);
      return sent;
    },
    refuse: (text) => core.notices.add("error", text),
    lost,
  };
}

/** Shows a text of a cell of which the server does not know yet. */
export function showText(store: Store, id: string, source: string): void {
  store.update((state) => {
    const cell = state.notebook.cells[id];
    if (cell === undefined) return state;
    const cells = Object.assign(copyOf(state.notebook.cells), { [id]: { ...cell, source } });
    return { ...state, notebook: { ...state.notebook, cells } };
  });
}
