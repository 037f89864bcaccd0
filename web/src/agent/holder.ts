import { list, read, string } from "../json/schema";
import type { Fields } from "../json/values";
import {
  type CellChangeAuthor,
  type Message,
  type MessageOf,
  type NotebookStateMessage,
  type OutgoingMessage,
  readMessage,
} from "../protocol/messages";
import { executionsSnapshotSchema, type WireCell, wireCellSchema } from "../protocol/wire.gen";
import {
  type ActionContext,
  type ActionOutcome,
  type ActionResult,
  handleAgentAction,
  performAction,
} from "./actionHandler";
import { ActionError } from "./actionParams";
import type { DocumentOwner } from "./documentOwner";
import {
  loadAttemptOfNotebook,
  loadNotebook,
  saveAttemptOfNotebook,
  saveNotebook,
  wireCellsOf,
} from "./notebookStorage";
import { PreviousNotebook } from "./previousNotebook";
import { RequestError } from "./requests";
import type { SessionServices } from "./sessionServices";

/** How many milliseconds changes must pause before the notebook is saved. */
const savePauseMs = 300;

export interface NotebookHolderConfig {
  services: SessionServices;
  consoleId: number;
  session: string;
  language(): string;
  sendToRun(message: unknown): boolean;
  sendToAgent(message: unknown): boolean;
  onResumed(): void; // The notebook is known again after connecting.
  /** Reports whether both connections are open. */
  isConnected(): boolean;
}

/**
 * Holds the notebook in this page: carries out the actions of the agent and the user, and sends the
 * server what to run.
 */
export class HolderDocumentOwner implements DocumentOwner {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private restartedAfterVerdict = false;
  /** The notebook differs from what was saved. */
  private isUnsaved = false;
  private kernelPid = 0;
  /** Trace of the attempt that the notebook belongs to; "": none. */
  private attempt: string;
  private readonly previous: PreviousNotebook;

  constructor(private readonly config: NotebookHolderConfig) {
    const { services, consoleId, session } = config;
    const createCell = (params: Fields) => this.act("create_cell", params);
    this.previous = new PreviousNotebook({ services, consoleId, session, createCell });
    this.attempt = loadAttemptOfNotebook(consoleId, session);
  }

  async load(): Promise<void> {
    const { services, consoleId, session } = this.config;
    const saved = await loadNotebook(consoleId, session);
    void this.previous.load();
    if (saved !== null && services.store.get().notebook.order.length === 0)
      services.store.restore(notebookStateMessageOf(read(list(wireCellSchema), saved), {}));
  }

  connected(): void {
    void this.config.services.conversation.load(true);
    this.config.services.inbox.add({ run: this.config.onResumed }); // applied after the ready message, which tells what has run
  }

  receiveFromRun(message: Message): void {
    const { services } = this.config;
    if (message.type === "ready") {
      const isFirst = !this.config.isConnected();
      services.inbox.add({ run: () => this.handleReady(message, isFirst) });
    }
    services.receive(message);
  }

  /**
   * Takes over the outputs of the cells. A new attempt starts with an empty notebook; a session
   * that the user restarts, and one before a broken connection, go on with this one.
   */
  private handleReady(ready: MessageOf<"ready">, isFirst: boolean): void {
    const { store } = this.config.services;
    const state = store.get();
    const isOther = this.isOtherSession(ready);
    const attemptEnded = state.verdict !== null && !this.restartedAfterVerdict && !isFirst && isOther;
    const isNext = this.belongsToNextAttempt(ready) || attemptEnded;
    this.restartedAfterVerdict = false;
    const cells = wireCellsOf(state);
    store.restore(notebookStateMessageOf(isNext ? [] : cells, ready));
    if (state.verdict !== null && !isOther) store.update((now) => ({ ...now, verdict: state.verdict }));
    if (isNext) this.offerPrevious(cells);
  }

  /** Reports whether the notebook belongs to an attempt and the ready message to another one. */
  private belongsToNextAttempt(ready: MessageOf<"ready">): boolean {
    const { consoleId, session } = this.config;
    const before = this.attempt;
    this.attempt = ready.case_id ? (ready.trace ?? "") : "";
    saveAttemptOfNotebook(consoleId, session, this.attempt);
    return before !== "" && this.attempt !== "" && this.attempt !== before;
  }

  /**
   * Reports whether a ready message is of another session than the one before: its kernel is
   * another one, or has run nothing.
   */
  private isOtherSession(ready: MessageOf<"ready">): boolean {
    const before = this.kernelPid;
    this.kernelPid = ready.kernel_pid;
    if (before !== 0 && this.kernelPid !== 0) return this.kernelPid !== before;
    return [ready.cell_status, ready.cell_sequencers, ready.cell_outputs].every(isEmptyOrUndefined);
  }

  private offerPrevious(cells: readonly WireCell[]): void {
    this.isUnsaved = true;
    this.save();
    this.previous.saveAndOffer(cells);
  }

  receiveFromAgent(message: Message): void {
    const { services } = this.config;
    if (message.type === "agent_action") {
      services.inbox.drain(); // answered at once, even if the page is hidden
      this.answerAction(message);
    } else services.receive(message);
  }

  /** Answers an action of the agent, and then sends to the kernel. */
  private answerAction(message: MessageOf<"agent_action">): void {
    const { services, sendToAgent } = this.config;
    const handled = handleAgentAction(services.store.get(), message, this.context());
    this.applyEvents(handled.events, read(string, message.tx_id).startsWith("eval_") ? "server" : "agent");
    if (handled.response !== null) sendToAgent(handled.response);
    this.sendToKernel(handled.kernelMessages);
  }

  async act(action: string, params: Fields): Promise<{ cell_id?: string }> {
    this.config.services.inbox.drain();
    const { events, fields, kernelMessages } = this.performAction({ type: "agent_action", action, params });
    this.applyEvents(events, "console");
    this.sendToKernel(kernelMessages);
    return typeof fields.cell_id === "string" ? { cell_id: fields.cell_id } : {};
  }

  /** Carries out an action and fails in the way in which the server refuses a view's action. */
  private performAction(message: Fields): ActionResult {
    try {
      return performAction(this.config.services.store.get(), message, this.context());
    } catch (error) {
      if (!(error instanceof ActionError)) throw error;
      throw new RequestError(error.message, error.fields);
    }
  }

  runCellMessage(id: string, typed: string | null): OutgoingMessage {
    const code = typed ?? this.config.services.store.get().notebook.cells[id]?.source ?? "";
    return { type: "run_cell", cell_id: id, code };
  }

  /** The user has restarted the kernel or the agent. */
  noteRestart(): void {
    this.restartedAfterVerdict = this.config.services.store.get().verdict !== null;
  }

  private applyEvents(events: ActionOutcome["events"], by: CellChangeAuthor): void {
    if (events.length === 0) return;
    this.config.services.store.apply(events.map((event) => ({ seq: 0, hop: "notebook", msg: { ...event, by } })));
    this.isUnsaved = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), savePauseMs);
  }

  private sendToKernel(run: ActionOutcome["kernelMessages"]): void {
    const { services, sendToRun } = this.config;
    for (const msg of run) {
      if (sendToRun(msg)) services.store.apply([{ seq: 0, hop: "server>kernel", msg: readMessage(msg) }]);
    }
  }

  /** Saves the notebook if it has changed. */
  save(): void {
    const { services, consoleId, session } = this.config;
    clearTimeout(this.timer);
    if (!this.isUnsaved) return;
    this.isUnsaved = false;
    saveNotebook(consoleId, session, wireCellsOf(services.store.get())).catch(() => {
      services.notices.add("error", "There is no room to save this notebook: it is lost when the page is closed.");
    });
  }

  private context(): ActionContext {
    return { language: this.config.language(), createId: () => crypto.randomUUID() };
  }
}

function isEmptyOrUndefined(part: object | undefined): boolean {
  return part === undefined || Object.keys(part).length === 0;
}

/** Returns cells and executions as the notebook_state message that a view would receive. */
function notebookStateMessageOf(
  cells: readonly WireCell[],
  executions: Partial<MessageOf<"ready">>,
): NotebookStateMessage {
  return { seq: 0, cells, runs: read(executionsSnapshotSchema, executions) };
}
