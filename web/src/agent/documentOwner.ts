import type { Fields } from "../json/values";
import type { Message, OutgoingMessage } from "../protocol/messages";

/**
 * The part of a session that differs between a page that only views the server's notebook
 * (ViewDocumentOwner) and one that holds the notebook (HolderDocumentOwner).
 */
export interface DocumentOwner {
  /** Restores the saved notebook, before anything is connected. */
  load(): Promise<void>;
  receiveFromRun(message: Message): void; // Handles a message of /run.
  receiveFromAgent(message: Message): void; // Handles a message of /agent.
  /** Called when both connections are open. */
  connected(): void;
  /** Carries out an action of the user. Resolves to the fields of its response. */
  act(action: string, params: Fields): Promise<{ cell_id?: string }>;
  /**
   * Returns the run_cell message of a cell. typed is the text that was just typed; null: nothing
   * was typed.
   */
  runCellMessage(id: string, typed: string | null): OutgoingMessage;
  /** Called when the user restarts the kernel or the agent. */
  noteRestart(): void;
  /** Saves what the server does not have while the page is reloaded. */
  save(): void;
}
