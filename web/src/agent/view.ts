import { type Fields, numberOrZero } from "../json/read";
import type { Message, NotebookStateMessage } from "../protocol/messages";
import type { Core } from "./core";
import { isOfRuns } from "./frames";
import type { Keeper } from "./keeper";
import { errorText } from "./requests";

/** Shows the server's notebook, which comes at /agent, in one order with all that happens to it. */
export class View implements Keeper {
  private states = 0;
  private pid = 0;

  /** resumed is called when the notebook is known again. */
  constructor(
    private readonly core: Core,
    private readonly send: (message: unknown) => boolean,
    private readonly resumed: () => void,
  ) {}

  async load(): Promise<void> {}

  connected(): void {
    this.states = 0;
  }

  restarts(): void {}

  keep(): void {}

  fromAgent(message: Message): void {
    const { core } = this;
    if (message.type === "notebook_state") this.restore(message as unknown as NotebookStateMessage);
    else if (message.type === "agent_error" && numberOrZero(message.seq) === 0)
      core.notices.add("error", errorText(message));
    else core.take(message);
  }

  /** The second state of a connection is that of another session. */
  private restore(state: NotebookStateMessage): void {
    const { inbox, conversation } = this.core;
    if (this.states++ > 0) conversation.forget();
    inbox.add({ state });
    inbox.add({ act: this.resumed });
    void conversation.load(false);
  }

  fromRun(message: Message): void {
    if (isOfRuns(message)) return; // of the time before /agent was there; the state has them
    if (message.type === "ready") this.greeted(numberOrZero(message.kernel_pid));
    this.core.take(message);
  }

  /** Another kernel that has come without a word of the end of the one before. */
  private greeted(pid: number): void {
    const { inbox, store } = this.core;
    const before = this.pid;
    this.pid = pid;
    if (before === 0 || pid === before) return;
    const msg = { type: "managed_process_exit", name: "kernel" };
    inbox.add({
      act: () => {
        if (store.get().notebook.kernel === "running") store.apply([{ seq: 0, hop: "server>console", msg }]);
      },
    });
  }

  act(action: string, params: Fields): Promise<Fields> {
    return this.core.requests.ask((tx_id) => this.send({ type: "notebook_action", action, params, tx_id }));
  }

  /** Without code the server runs what is there, and no edit that is on its way to us is undone. */
  runOf(id: string, typed: string | null): Message {
    return { type: "run_cell", cell_id: id, ...(typed === null ? {} : { code: typed }) };
  }
}
