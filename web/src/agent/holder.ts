import { type Fields, isObject, numberOrZero, textOf } from "../json/read";
import type { By, Message, NotebookStateMessage, WireCell } from "../protocol/messages";
import { type Answered, type Desk, handleAgentAction, type Outcome, perform } from "./actionHandler";
import { Aside } from "./aside";
import type { Core } from "./core";
import { cellsToKeep, keepAttempt, keepDocument, keptAttempt, keptDocument } from "./documentStore";
import type { Keeper } from "./keeper";
import { ActionError } from "./reader";
import { RequestError } from "./requests";

/** How long changes must pause for the notebook to be kept, in milliseconds. */
const pause = 300;

export interface HolderConfig {
  core: Core;
  console: number;
  session: string;
  language(): string;
  sendRun(message: unknown): boolean;
  sendAgent(message: unknown): boolean;
  resumed(): void;
  /** Both connections are up. */
  connected(): boolean;
}

/** Holds the notebook: what agent and person want of it is done here, and the server is told what is to run. */
export class Holder implements Keeper {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private restarted = false;
  /** The notebook is another than what was kept. */
  private changed = false;
  private pid = 0;
  /** The attempt that the notebook is of, by the name of its trace; "": it is of none. */
  private attempt: string;
  private readonly aside: Aside;

  constructor(private readonly config: HolderConfig) {
    const { core, console, session } = config;
    const make = (params: Fields) => this.act("create_cell", params);
    this.aside = new Aside({ core, console, session, make });
    this.attempt = keptAttempt(console, session);
  }

  async load(): Promise<void> {
    const { core, console, session } = this.config;
    const kept = await keptDocument(console, session);
    void this.aside.load();
    if (kept !== null && core.store.get().notebook.order.length === 0) core.store.restore(stateOf(kept, {}));
  }

  connected(): void {
    void this.config.core.conversation.load(true);
    this.config.core.inbox.add({ act: this.config.resumed }); // behind the ready that tells what has run
  }

  fromRun(message: Message): void {
    const { core } = this.config;
    if (message.type === "ready") {
      const first = !this.config.connected();
      core.inbox.add({ act: () => this.greeted(message, first) });
    }
    core.take(message);
  }

  /**
   * Takes over what the cells have shown. A new attempt begins with an empty notebook;
   * what a person begins, and what was there before a connection broke, with this one.
   */
  private greeted(ready: Message, first: boolean): void {
    const { store } = this.config.core;
    const state = store.get();
    const other = this.isOther(ready);
    const ended = state.verdict !== null && !this.restarted && !first && other;
    const next = this.isNextAttempt(ready) || ended;
    this.restarted = false;
    const cells = cellsToKeep(state);
    store.restore(stateOf(next ? [] : cells, ready));
    if (state.verdict !== null && !other) store.update((now) => ({ ...now, verdict: state.verdict }));
    if (next) this.putAside(cells);
  }

  /** Whether the notebook is of one attempt, and this is another. */
  private isNextAttempt(ready: Message): boolean {
    const { console, session } = this.config;
    const before = this.attempt;
    this.attempt = textOf(ready.case_id) === "" ? "" : textOf(ready.trace);
    keepAttempt(console, session, this.attempt);
    return before !== "" && this.attempt !== "" && this.attempt !== before;
  }

  /** Whether a ready is of another session than the one before: of another kernel, or of one that has run nothing. */
  private isOther(ready: Message): boolean {
    const before = this.pid;
    this.pid = numberOrZero(ready.kernel_pid);
    if (before !== 0 && this.pid !== 0) return this.pid !== before;
    return [ready.cell_status, ready.cell_sequencers, ready.cell_outputs].every(isEmpty);
  }

  private putAside(cells: readonly WireCell[]): void {
    this.changed = true;
    this.keep();
    this.aside.put(cells);
  }

  fromAgent(message: Message): void {
    const { core } = this.config;
    if (message.type === "agent_action") {
      core.inbox.drain(); // it is answered at once, whether the page is drawn or not
      this.answer(message);
    } else core.take(message);
  }

  /** Answers an action of the agent's, and then tells the kernel. */
  private answer(message: Message): void {
    const { core, sendAgent } = this.config;
    const answered = handleAgentAction(core.store.get(), message, this.desk());
    this.change(answered.events, textOf(message.tx_id).startsWith("eval_") ? "server" : "agent");
    if (answered.response !== null) sendAgent(answered.response);
    this.tell(answered.run);
  }

  async act(action: string, params: Fields): Promise<Fields> {
    this.config.core.inbox.drain();
    const { events, fields, run } = this.perform({ type: "agent_action", action, params });
    this.change(events, "console");
    this.tell(run);
    return fields;
  }

  /** What an action does. It is refused in the same way as the server refuses a view's. */
  private perform(message: Message): Outcome {
    try {
      return perform(this.config.core.store.get(), message, this.desk());
    } catch (error) {
      if (!(error instanceof ActionError)) throw error;
      throw new RequestError(error.message, { type: "agent_action_response", ...error.more });
    }
  }

  runOf(id: string, typed: string | null): Message {
    const code = typed ?? this.config.core.store.get().notebook.cells[id]?.source ?? "";
    return { type: "run_cell", cell_id: id, code };
  }

  /** A person has asked for another kernel or agent. */
  restarts(): void {
    this.restarted = this.config.core.store.get().verdict !== null;
  }

  private change(events: Answered["events"], by: By): void {
    if (events.length === 0) return;
    this.config.core.store.apply(events.map((event) => ({ seq: 0, hop: "notebook", msg: { ...event, by } })));
    this.changed = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keep(), pause);
  }

  private tell(run: Answered["run"]): void {
    const { core, sendRun } = this.config;
    for (const msg of run) {
      if (sendRun(msg)) core.store.apply([{ seq: 0, hop: "server>kernel", msg }]);
    }
  }

  /** Keeps the notebook while the page is loaded again. What was kept stays where nothing has changed. */
  keep(): void {
    const { core, console, session } = this.config;
    clearTimeout(this.timer);
    if (!this.changed) return;
    this.changed = false;
    keepDocument(console, session, cellsToKeep(core.store.get())).catch(() => {
      core.notices.add("error", "There is no room to keep this notebook: it is lost when the page is closed.");
    });
  }

  private desk(): Desk {
    return { language: this.config.language(), newId: () => crypto.randomUUID() };
  }
}

function isEmpty(part: unknown): boolean {
  return !isObject(part) || Object.keys(part).length === 0;
}

/** A state of cells and runs as a view would get it; whatever cannot be read of it is left out. */
function stateOf(cells: unknown, runs: Fields): NotebookStateMessage {
  return {
    type: "notebook_state",
    seq: 0,
    cells: cells as WireCell[],
    runs: runs as unknown as NotebookStateMessage["runs"],
  };
}
