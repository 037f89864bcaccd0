import { copyOfRecord } from "../json/values";
import type { OutgoingMessage } from "../protocol/messages";
import type { Store } from "../store/store";
import type { ConsoleConnection } from "./consoleConnection";
import type { DocumentOwner } from "./documentOwner";
import type { UnsentEdits } from "./edits";
import { entryOfSentMessage } from "./entries";
import type { CommandBackend } from "./sessionCommands";
import type { SessionServices } from "./sessionServices";

export interface CommandBackendConfig {
  services: SessionServices;
  connection: ConsoleConnection;
  edits: UnsentEdits;
  /** null: there is no notebook yet. */
  owner(): DocumentOwner | null;
  /** Offers the text that the user had typed into a cell in conflict, which was deleted. */
  offerLostText(text: string): void;
}

/**
 * Returns the backend that carries out the user's commands: it sends them over the connections and
 * records what was sent.
 */
export function createCommandBackend({
  services,
  connection,
  edits,
  owner,
  offerLostText,
}: CommandBackendConfig): CommandBackend {
  const recordSent = (message: OutgoingMessage) => {
    services.unconfirmed.add(message, services.store.get().agent.seq ?? 0);
    services.conversation.add(entryOfSentMessage("console>server", message));
  };
  return {
    store: services.store,
    edits,
    act: (action, params) => owner()?.act(action, params) ?? Promise.reject(new Error("there is no notebook yet")),
    runCell: (id, typed) => {
      const message = owner()?.runCellMessage(id, typed);
      if (message === undefined || !connection.sendToRun(message)) return false;
      services.sentCells.add(id);
      services.inbox.add({ entry: entryOfSentMessage("server>kernel", { type: "run_cell", cell_id: id }) });
      return true;
    },
    requestFromRun: (answerType, message) =>
      services.requests.request(answerType, (id) => connection.sendToRun({ ...message, tx_id: id, agent_tx_id: id })),
    sendToRun: (message) => {
      const isRestart = message.type === "managed_process_restart";
      if (isRestart) owner()?.noteRestart();
      const sent = connection.sendToRun(message);
      if (sent && isRestart) recordSent(message);
      return sent;
    },
    sendToAgent: (message) => {
      const sent = connection.sendToAgent(message);
      if (sent) recordSent(message);
      return sent;
    },
    reportFailure: (text) => services.notices.add("error", text),
    offerLostText,
  };
}

/** Shows in the notebook a cell's text that has not been sent to the server yet. */
export function showUnsentTextInCell(store: Store, id: string, source: string): void {
  store.update((state) => {
    const cell = state.notebook.cells[id];
    if (cell === undefined) return state;
    const cells = Object.assign(copyOfRecord(state.notebook.cells), { [id]: { ...cell, source } });
    return { ...state, notebook: { ...state.notebook, cells } };
  });
}
