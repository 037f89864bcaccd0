import { type Config, getToken, setToken } from "../api/client";
import type { Commands } from "../notebook/commands";
import type { Message } from "../protocol/messages";
import { numberOf, textOf } from "../store/read";
import { refusesToken } from "./backoff";
import { commandsOf, type Hands } from "./commandsOf";
import { Core } from "./core";
import { Edits } from "./edits";
import { sentEntry } from "./frames";
import { Holder } from "./holder";
import { connectionIndex, consoleId, keepConnectionIndex } from "./identity";
import type { Keeper } from "./keeper";
import { Link } from "./link";
import type { Live, Phase, Role } from "./live";
import { awaitSession, followPhase, type PhaseEvents } from "./phase";
import { loadEdits, saveEdits } from "./savedEdits";
import { View } from "./view";

/** A session that is live on this page, from start to stop; it may be started again. It tells of itself by snapshots. */
export class LiveSession {
  readonly core: Core;
  private readonly edits: Edits;
  private readonly link: Link;
  private readonly hands: Hands;
  private keeper: Keeper | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly stops: (() => void)[] = [];
  private live: Live | null = null;
  private commands: Commands | null = null;
  private following = new AbortController();
  private notRun: (() => string[]) | null = null;
  private console = 0;
  private phase: Phase | null = null;
  private needToken = false;
  private tokenRefused: string | null = null;
  private sessionOwner = false;
  private language = "";
  private kernelPid = 0;

  constructor(
    private readonly config: Config,
    readonly session: string,
    readonly role: Role,
  ) {
    this.core = new Core(session, () => this.changed());
    this.edits = new Edits({
      store: this.core.store,
      ask: (cell_id, source, rev) => this.hands.act("edit_cell", { cell_id, source, rev }) as Promise<Message>,
      changed: () => this.changed(),
      refused: (id, text, why) => this.editRefused(id, text, why),
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
      this.core.store.subscribe(() => this.edits.follow()),
    );
    void this.begin();
  }

  stop(): void {
    this.leave();
    this.following.abort();
    this.core.conversation.stop();
    this.link.stop();
    this.core.inbox.clear();
    this.core.requests.failAll("the page was left");
    for (const f of this.stops.splice(0)) f();
  }

  private async begin(): Promise<void> {
    const { signal } = this.follow();
    this.console = await consoleId();
    this.keeper ??= this.makeKeeper();
    await this.keeper.load();
    this.edits.load(loadEdits(this.session));
    const goOn = this.config.eval_sandbox || (await awaitSession(this.session, this.phaseEvents(signal), signal));
    if (goOn && !signal.aborted) this.link.start();
  }

  /** Ends what is followed, and begins to follow something else. */
  private follow(): AbortController {
    this.following.abort();
    this.following = new AbortController();
    return this.following;
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
    return new Holder({ core, console: this.console, session: this.session, language, sendRun, sendAgent, resumed });
  }

  private whoAmI() {
    const { session, role, console: id, config } = this;
    const index = this.link.index || connectionIndex(session);
    return { session, role, id, index, sandbox: config.eval_sandbox, token: getToken() };
  }

  private fromRun(message: Message): void {
    if (message.type === "ready") this.greeted(message);
    if (message.type === "managed_process_exit" && message.name === "kernel") this.kernelPid = 0;
    this.keeper?.fromRun(message);
    this.changed();
  }

  private greeted(ready: Message): void {
    this.sessionOwner = ready.session_owner === true;
    this.language = textOf(ready.language) || this.language;
    this.kernelPid = ready.kernel_status === "running" ? numberOf(ready.kernel_pid) : 0;
    keepConnectionIndex(this.session, numberOf(ready.connection_idx));
  }

  private linkChanged(): void {
    const { link, core } = this;
    const up = link.state === "connected";
    if (up) {
      this.phase = "running";
      this.keeper?.connected();
    } else if (!this.config.eval_sandbox) this.followWhileAway();
    if (link.state === "disconnected") {
      core.requests.failAll("the connection was lost before the answer came");
      const notRun = core.sent.lost();
      this.notRun ??= notRun;
      this.askForToken();
    }
    if (up) this.follow();
    this.changed();
  }

  private followWhileAway(): void {
    const { signal } = this.follow();
    void followPhase(this.session, this.phaseEvents(signal), signal);
  }

  private askForToken(): void {
    const { code, reason } = this.link;
    if (this.config.eval_sandbox || code === null || !refusesToken(code, reason)) return;
    this.follow();
    this.needToken = true;
    this.tokenRefused = getToken() === null ? null : "The server has refused that token.";
  }

  private phaseEvents(signal: AbortSignal): PhaseEvents {
    return {
      phase: (phase) => {
        if (this.phase === phase) return;
        this.phase = phase;
        this.changed();
      },
      refused: () => {
        if (signal.aborted) return;
        this.needToken = true;
        this.tokenRefused = getToken() === null ? null : "The server has refused that token.";
        this.changed();
      },
      problem: (text) => this.core.notices.add("error", `The session could not start: ${text}`),
    };
  }

  private readonly submitToken = (token: string): void => {
    setToken(token);
    this.needToken = false;
    this.tokenRefused = null;
    this.link.stop();
    this.changed();
    void this.begin();
  };

  /** The notebook is known again: what was kept is sent, and what was not run is told. */
  private resumed(): void {
    this.edits.flushAll();
    const lost = this.notRun?.() ?? [];
    this.notRun = null;
    if (lost.length === 0) return;
    const what = lost.length === 1 ? "A cell was" : `${lost.length} cells were`;
    this.core.notices.add("error", `${what} not run: the connection was lost.`);
  }

  private editRefused(id: string, text: string, why: string): void {
    const { notices, store } = this.core;
    if (store.get().notebook.cells[id] !== undefined) {
      notices.add("error", `What was typed could not be stored: ${why}`);
      return;
    }
    const run = () => {
      this.commands?.createCell(store.get().notebook.order.length, "code", text).catch((error: Error) => {
        notices.add("error", `The cell could not be made: ${error.message}`);
      });
    };
    const action = { label: "Make a cell of it", run };
    notices.add("error", "A cell was deleted while you were changing it. Your text is not lost.", action);
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
        return link.sendRun(message);
      },
      sendAgent: (message) => {
        const sent = link.sendAgent(message);
        if (sent) core.conversation.add(sentEntry("console>server", message));
        return sent;
      },
      refuse: (text) => core.notices.add("error", text),
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
    const { link, core, role, phase, needToken, tokenRefused, language, kernelPid } = this;
    const { state, code, reason, retryAt } = link;
    const sessionOwner = this.config.eval_sandbox || this.sessionOwner;
    const canRun = state === "connected" && sessionOwner;
    if (this.commands?.canRun !== canRun) this.commands = commandsOf(this.hands, canRun);
    return {
      store: core.store,
      commands: this.commands,
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

  private readonly retry = () => this.link.retry();
  private readonly dismiss = (notice: number) => this.core.notices.dismiss(notice);

  private changed(): void {
    this.live = null;
    for (const f of [...this.listeners]) f();
  }
}
