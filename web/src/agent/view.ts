import type { Fields } from "../json/values";
import type { Message, NotebookStateMessage, OutgoingMessage } from "../protocol/messages";
import type { DocumentOwner } from "./documentOwner";
import { isExecutionMessage } from "./entries";
import { userErrorText } from "./requests";
import type { SessionServices } from "./sessionServices";

/**
 * Shows the notebook that the server holds (role view). Its state and all changes come at /agent,
 * in order.
 */
export class ViewDocumentOwner implements DocumentOwner {
  private snapshotCount = 0;
  private kernelPid = 0;

  /** onResumed is called when the notebook is known again. */
  constructor(
    private readonly services: SessionServices,
    private readonly send: (message: unknown) => boolean,
    private readonly onResumed: () => void,
  ) {}

  async load(): Promise<void> {}

  connected(): void {
    this.snapshotCount = 0;
  }

  noteRestart(): void {}

  save(): void {}

  receiveFromAgent(message: Message): void {
    const { services } = this;
    if (message.type === "notebook_state") this.restoreSnapshot(message);
    else if (message.type === "agent_error" && (message.seq ?? 0) === 0)
      services.notices.add("error", userErrorText(message));
    else services.receive(message);
  }

  /** Replaces the notebook. The second snapshot of a connection belongs to another session. */
  private restoreSnapshot(state: NotebookStateMessage): void {
    const { inbox, conversation } = this.services;
    if (this.snapshotCount++ > 0) conversation.clear();
    inbox.add({ state });
    inbox.add({ run: this.onResumed });
    void conversation.load(false);
  }

  receiveFromRun(message: Message): void {
    if (isExecutionMessage(message)) return; // older than the snapshot at /agent, which includes it
    if (message.type === "ready") this.handleReady(message.kernel_pid);
    this.services.receive(message);
  }

  /** Reports the end of the previous kernel if the server has not. */
  private handleReady(pid: number): void {
    const { inbox, store } = this.services;
    const before = this.kernelPid;
    this.kernelPid = pid;
    if (before === 0 || pid === before) return;
    const msg = { type: "managed_process_exit", name: "kernel", exit_code: 0, signal: "" } as const;
    inbox.add({
      run: () => {
        if (store.get().notebook.kernel === "running") store.apply([{ seq: 0, hop: "server>console", msg }]);
      },
    });
  }

  act(action: string, params: Fields): Promise<{ cell_id?: string }> {
    const send = (tx_id: string) => this.send({ type: "notebook_action", action, params, tx_id });
    return this.services.requests.request("notebook_action_response", send);
  }

  /**
   * Returns a run_cell without code if nothing was typed: the server then runs its own source, and
   * an edit that is on its way to this page is not undone.
   */
  runCellMessage(id: string, typed: string | null): OutgoingMessage {
    return { type: "run_cell", cell_id: id, ...(typed === null ? {} : { code: typed }) };
  }
}
