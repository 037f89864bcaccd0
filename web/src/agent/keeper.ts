import type { Fields } from "../json/read";
import type { Message } from "../protocol/messages";

/** What is different between a view and a holder of the notebook. */
export interface Keeper {
  /** Takes back what was kept of the notebook, before anything is connected. */
  load(): Promise<void>;
  fromRun(message: Message): void;
  fromAgent(message: Message): void;
  /** Both connections are up. */
  connected(): void;
  /** Carries out an action of a person's; resolves to the fields of its answer. */
  act(action: string, params: Fields): Promise<Fields>;
  /** The run_cell of a cell, with what was typed just now, null: nothing was. */
  runOf(id: string, typed: string | null): Message;
  /** A person has asked for another kernel or agent. */
  restarts(): void;
  /** Keeps what it alone has while the page is loaded again. */
  keep(): void;
}
