import { type Config, getToken } from "../api/client";
import type { Commands } from "../commands/commands";
import { type Standing, whyNotRun } from "../commands/whyNot";
import { numberOrZero, textOf } from "../json/read";
import type { Message } from "../protocol/messages";
import { Admission } from "./admission";
import { commandsOf, type Hands } from "./commandsOf";
import { Core } from "./core";
import { Edits } from "./edits";
import { handsOf, showText } from "./handsOf";
import { consoleId, keepGiven, lastGiven } from "./identity";
import type { Keeper } from "./keeper";
import { KernelFacts } from "./kernelFacts";
import { Leftovers } from "./leftovers";
import { Link } from "./link";
import type { Live, Role } from "./live";
import { tellDeleted, tellLost, tellRefused, tellUnsent } from "./losses";
import { MissedVerdict } from "./missedVerdict";
import type { Console } from "./run";
import { View } from "./view";

/** A session that is live on this page, from start to stop; it may be started again. It tells of itself by snapshots. */
export class LiveSession {
  readonly core: Core;
  private readonly edits: Edits;
  private readonly left: Leftovers;
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
  private missed: MissedVerdict | null = null;
  /** Counts begins and ends: a begin that has been overtaken goes no further. */
  private turn = 0;
  private readonly kernel = new KernelFacts();

  constructor(
    private readonly config: Config,
    readonly session: string,
    readonly role: Role,
  ) {
    const changed = () => this.changed();
    const ask = (message: Message) => this.hands.sendAgent(message);
    this.core = new Core(session, changed, () => tellUnsent(this.core, ask));
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
      kept: () => this.left.keepEdits(),
    });
    this.left = new Leftovers(session, this.core, this.edits);
    this.link = new Link({
      console: () => this.whoAmI(),
      fromRun: (message) => this.fromRun(message),
      fromAgent: (message) => this.fromAgent(message),
      changed: () => this.linkChanged(),
    });
    const deleted = "The cell was deleted in a conflict. Your text is not lost.";
    const lost = (text: string) => tellDeleted(this.core, this.commands, text, deleted);
    this.hands = handsOf({ core: this.core, link: this.link, edits: this.edits, keeper: () => this.keeper, lost });
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
    this.keeper ??= await this.makeKeeper();
    await this.keeper.load();
    if (turn !== this.turn) return;
    this.left.load();
    this.missed ??= new MissedVerdict(this.core, this.session, lastGiven(this.session).trace);
    if (this.role === "holder") this.edits.resume();
    if ((await entering) && turn === this.turn) this.link.start();
  }

  /** What was typed is sent, and kept if it cannot be. */
  private leave(): void {
    this.edits.flushAll();
    this.left.keep();
    this.keeper?.keep();
  }

  private async makeKeeper(): Promise<Keeper> {
    const { core, link } = this;
    const sendAgent = (message: unknown) => link.sendAgent(message);
    const resumed = () => this.resumed();
    if (this.role === "view") return new View(core, sendAgent, resumed);
    const { Holder } = await import("./holder"); // most pages are views
    const sendRun = (message: unknown) => link.sendRun(message);
    const language = () => this.kernel.language || "python";
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

  /**
   * The console comes under the number that it had, and so in the place of a
   * connection that is dead: what is still on its way on that is not done.
   */
  private whoAmI(): Console {
    const { session, role, console: id, config } = this;
    return { session, role, id, given: lastGiven(session), sandbox: config.eval_sandbox, token: getToken() };
  }

  private fromRun(message: Message): void {
    if (message.type === "ready") {
      this.missed?.heard(message, this.link.state !== "connected");
      keepGiven(this.session, { index: numberOrZero(message.connection_idx), trace: textOf(message.trace) });
    }
    const ofKernel = this.kernel.heard(message);
    this.keeper?.fromRun(message);
    if (ofKernel) this.changed();
  }

  private fromAgent(message: Message): void {
    this.missed?.heard(message, false);
    this.keeper?.fromAgent(message);
    if (message.event === "cell_edited" && message.type === "notebook_event")
      this.edits.heard(textOf(message.cell_id), textOf(message.source), numberOrZero(message.rev));
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
    this.left.sent();
    tellLost(this.core, this.notRun?.() ?? []);
    this.notRun = null;
  }

  /** Shows a text of which the server does not know yet. A holder's notebook changes by actions alone. */
  private show(id: string, source: string): void {
    if (this.role === "view") showText(this.core.store, id, source);
  }

  private makeLive(): Live {
    const { link, core, role, kernel } = this;
    const { state, code, reason, retryAt } = link;
    const { phase, needToken, tokenRefused } = this.admission;
    const sessionOwner = this.config.eval_sandbox || kernel.owner;
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
      language: kernel.language,
      kernelPid: kernel.pid,
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
