import { type Config, getToken } from "../api/client";
import type { Commands } from "../notebook/commands";
import type { Message } from "../protocol/messages";
import { copyOf, numberOf, textOf } from "../store/read";
import { Admission } from "./admission";
import { commandsOf, type Hands } from "./commandsOf";
import { Core } from "./core";
import { Edits } from "./edits";
import { sentEntry } from "./frames";
import { traceOf } from "./history";
import { Holder } from "./holder";
import { connectionIndex, consoleId, keepConnectionIndex } from "./identity";
import type { Keeper } from "./keeper";
import { Link } from "./link";
import type { Live, Role } from "./live";
import { tellDeleted, tellLost, tellRefused, tellUnsent } from "./losses";
import type { Console } from "./run";
import { loadEdits, saveEdits } from "./savedEdits";
import { View } from "./view";
import { type Standing, whyNotRun } from "./whyNot";

/** A session that is live on this page, from start to stop; it may be started again. It tells of itself by snapshots. */
export class LiveSession {
  readonly core: Core;
  private readonly edits: Edits;
  private readonly link: Link;
  private readonly admission: Admission;
  private readonly hands: Hands;
  private keeper: Keeper | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly stops: (() => void)[] = [];
  private live: Live | null = null;
  private commands: Commands | null = null;
  /** An attempt has ended, and nothing has begun since. */
  private over = false;
  private notRun: (() => string[]) | null = null;
  private console = 0;
  /** Names the session that was there when it was connected to last; "" where nobody owns it. */
  private trace = "";
  /** Counts begins and ends: a begin that has been overtaken goes no further. */
  private turn = 0;
  private sessionOwner = false;
  private language = "";
  private kernelPid = 0;

  constructor(
    private readonly config: Config,
    readonly session: string,
    readonly role: Role,
  ) {
    const changed = () => this.changed();
    this.core = new Core(session, changed, () => this.tellUnsent());
    const { store, notices } = this.core;
    this.admission = new Admission({
      session,
      sandbox: config.eval_sandbox,
      changed,
      problem: (text) => notices.add("error", `The session could not start: ${text}`),
    });
    this.edits = new Edits({
      store,
      ask: (cell_id, source, rev) => this.hands.act("edit_cell", { cell_id, source, rev }),
      changed,
      refused: (id, text, why) => tellRefused(this.core, this.commands, { id, text, why }),
      show: (id, text) => this.show(id, text),
    });
    this.link = new Link({
      console: () => this.whoAmI(),
      fromRun: (message) => this.fromRun(message),
      fromAgent: (message) => this.keeper?.fromAgent(message),
      changed: () => this.linkChanged(),
    });
    this.hands = this.makeHands();
  }

  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** What there is to know, as the same object until something of it changes. */
  readonly snapshot = (): Live => {
    this.live ??= this.makeLive();
    return this.live;
  };

  start(): void {
    const leave = () => this.leave();
    window.addEventListener("pagehide", leave);
    this.stops.push(
      () => window.removeEventListener("pagehide", leave),
      this.core.store.subscribe(() => this.storeChanged()),
    );
    void this.begin();
  }

  private storeChanged(): void {
    this.edits.follow();
    const over = this.core.store.get().verdict !== null;
    if (over === this.over) return;
    this.over = over;
    this.changed();
  }

  stop(): void {
    this.turn++;
    this.leave();
    this.admission.stop();
    this.core.conversation.stop();
    this.link.stop();
    this.core.inbox.clear();
    this.core.requests.failAll("the page was left");
    for (const f of this.stops.splice(0)) f();
  }

  private async begin(): Promise<void> {
    const turn = ++this.turn;
    try {
      await this.enter(turn);
    } catch (error) {
      if (turn !== this.turn) return;
      const why = error instanceof Error ? error.message : String(error);
      const action = { label: "Try again", run: () => void this.begin() };
      this.core.notices.add("error", `The page could not begin: ${why}`, action);
    }
  }

  private async enter(turn: number): Promise<void> {
    const entering = this.admission.enter();
    this.console = await consoleId();
    this.keeper ??= this.makeKeeper();
    await this.keeper.load();
    this.edits.load(loadEdits(this.session));
    if (this.keeper instanceof Holder) this.edits.resume();
    if ((await entering) && turn === this.turn) this.link.start();
  }

  /** What was typed is sent, and kept if it cannot be. */
  private leave(): void {
    this.edits.flushAll();
    saveEdits(this.session, this.edits.save());
    if (this.keeper instanceof Holder) this.keeper.keep();
  }

  private makeKeeper(): Keeper {
    const { core, link } = this;
    const sendAgent = (message: unknown) => link.sendAgent(message);
    const resumed = () => this.resumed();
    if (this.role === "view") return new View(core, sendAgent, resumed);
    const sendRun = (message: unknown) => link.sendRun(message);
    const language = () => this.language || "python";
    const connected = () => link.state === "connected";
    return new Holder({
      core,
      console: this.console,
      session: this.session,
      language,
      sendRun,
      sendAgent,
      resumed,
      connected,
    });
  }

  /** Where others may own the session, the console comes under the number that it had in it. */
  private async whoAmI(): Promise<Console> {
    const { session, role, console: id, config } = this;
    const sandbox = config.eval_sandbox;
    this.trace = sandbox ? "" : await traceOf(session);
    const index = this.trace === "" ? 0 : connectionIndex(session, this.trace);
    return { session, role, id, index, sandbox, token: getToken() };
  }

  private fromRun(message: Message): void {
    const ofKernel = message.type === "ready" || (message.type === "managed_process_exit" && message.name === "kernel");
    if (ofKernel) this.kernelChanged(message);
    this.keeper?.fromRun(message);
    if (ofKernel) this.changed();
  }

  private kernelChanged(message: Message): void {
    if (message.type === "ready") this.greeted(message);
    else this.kernelPid = 0;
  }

  private greeted(ready: Message): void {
    this.sessionOwner = ready.session_owner === true;
    this.language = textOf(ready.language) || this.language;
    this.kernelPid = ready.kernel_status === "running" ? numberOf(ready.kernel_pid) : 0;
    keepConnectionIndex(this.session, numberOf(ready.connection_idx), this.trace);
  }

  private linkChanged(): void {
    const { link, admission } = this;
    if (link.state === "connected") {
      admission.entered();
      this.keeper?.connected();
    } else admission.follow();
    if (link.state === "disconnected") this.lost();
    this.changed();
  }

  private lost(): void {
    const { core, link } = this;
    core.requests.failAll("the connection was lost before the answer came");
    core.words.lost();
    const notRun = core.sent.lost();
    this.notRun ??= notRun;
    this.admission.sentAway(link.code, link.reason);
  }

  /** The notebook is known again: what was kept is sent, and what was not run is told. */
  private resumed(): void {
    this.edits.resume();
    tellLost(this.core, this.notRun?.() ?? []);
    this.notRun = null;
  }

  private tellUnsent(): void {
    tellUnsent(this.core, this.core.words.take(), (message) => {
      const sent = this.hands.sendAgent({ ...message, request_id: crypto.randomUUID() });
      if (!sent) this.tellUnsentAgain(message);
    });
  }

  private tellUnsentAgain(message: Message): void {
    this.core.words.add(message, 0);
    this.core.words.lost();
    this.tellUnsent();
  }

  /** Shows a text of which the server does not know yet. A holder's notebook changes by actions alone. */
  private show(id: string, source: string): void {
    if (this.role === "holder") return;
    this.core.store.update((state) => {
      const cell = state.notebook.cells[id];
      if (cell === undefined) return state;
      const cells = Object.assign(copyOf(state.notebook.cells), { [id]: { ...cell, source } });
      return { ...state, notebook: { ...state.notebook, cells } };
    });
  }

  private note(message: Message): void {
    const entry = sentEntry("console>server", message);
    this.core.words.add(message, this.core.store.get().agent.seq ?? 0);
    this.core.conversation.add(entry);
  }

  private makeHands(): Hands {
    const { core, link, edits } = this;
    return {
      store: core.store,
      edits,
      act: (action, params) =>
        this.keeper?.act(action, params) ?? Promise.reject(new Error("there is no notebook yet")),
      run: (id, typed) => this.run(id, typed),
      askRun: (message) => core.requests.ask((tx) => link.sendRun({ ...message, tx_id: tx, agent_tx_id: tx })),
      sendRun: (message) => {
        if (message.type === "managed_process_restart" && this.keeper instanceof Holder) this.keeper.restarts();
        const sent = link.sendRun(message);
        if (sent && message.type === "managed_process_restart") this.note(message);
        return sent;
      },
      sendAgent: (message) => {
        const sent = link.sendAgent(message);
        if (sent) this.note(message);
        return sent;
      },
      refuse: (text) => core.notices.add("error", text),
      lost: (text) =>
        tellDeleted(core, this.commands, text, "The cell was deleted in a conflict. Your text is not lost."),
    };
  }

  private run(id: string, typed: string | null): boolean {
    const { core, link, keeper } = this;
    if (keeper === null || !link.sendRun(keeper.runOf(id, typed))) return false;
    core.sent.add(id);
    core.inbox.add({ entry: sentEntry("server>kernel", { type: "run_cell", cell_id: id }) });
    return true;
  }

  private makeLive(): Live {
    const { link, core, role, language, kernelPid } = this;
    const { state, code, reason, retryAt } = link;
    const { phase, needToken, tokenRefused } = this.admission;
    const sessionOwner = this.config.eval_sandbox || this.sessionOwner;
    return {
      store: core.store,
      commands: this.commandsAs({ connected: state === "connected", owner: sessionOwner, over: this.over }),
      connection: { state, code, reason, retryAt, retry: this.retry },
      phase,
      needToken,
      tokenRefused,
      submitToken: this.submitToken,
      role,
      sessionOwner,
      language,
      kernelPid,
      conflicts: this.edits.conflicts(),
      notices: core.notices.list,
      dismiss: this.dismiss,
    };
  }

  /** The commands, as the same object while they can do the same. */
  private commandsAs(standing: Standing): Commands {
    if (this.commands === null || this.commands.whyNot !== whyNotRun(standing)) {
      this.commands = commandsOf(this.hands, standing);
    }
    return this.commands;
  }

  private readonly submitToken = (token: string): void => {
    this.admission.submit(token);
    this.link.stop();
    this.changed();
    void this.begin();
  };

  private readonly retry = () => this.link.retry();
  private readonly dismiss = (notice: number) => this.core.notices.dismiss(notice);

  private changed(): void {
    this.live = null;
    for (const f of [...this.listeners]) f();
  }
}
