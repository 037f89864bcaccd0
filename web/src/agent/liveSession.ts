import { getToken } from "../api/client";
import type { Config } from "../api/config";
import { type SessionAccess, whyCannotRunCells } from "../commands/access";
import type { Commands } from "../commands/commands";
import type { Message, OutgoingMessage } from "../protocol/messages";
import { createCommandBackend, showUnsentTextInCell } from "./commandBackend";
import { ConsoleConnection } from "./consoleConnection";
import { getConsoleId, loadConnectionNumber, saveConnectionNumber } from "./consoleIdentity";
import type { DocumentOwner } from "./documentOwner";
import { UnsentEdits } from "./edits";
import type { ConsoleIdentity } from "./kernelConnection";
import { KernelStatus } from "./kernelStatus";
import { offerTextOfDeletedCell, reportCellsNotRun, reportRefusedEdit, reportUnconfirmedMessages } from "./lossNotices";
import { MissedVerdictReporter } from "./missedVerdict";
import { SessionAuth } from "./sessionAuth";
import { type CommandBackend, createCommands } from "./sessionCommands";
import { SessionServices } from "./sessionServices";
import type { ConsoleRole, SessionSnapshot } from "./sessionSnapshot";
import { UnsentDrafts } from "./unsentDrafts";
import { ViewDocumentOwner } from "./view";

/**
 * A live session of this page, from start to stop; it can be started again. Components read it as
 * snapshots.
 */
export class LiveSession {
  readonly services: SessionServices;
  private readonly edits: UnsentEdits;
  private readonly unsentDrafts: UnsentDrafts;
  private readonly connection: ConsoleConnection;
  private readonly auth: SessionAuth;
  private readonly backend: CommandBackend;
  private owner: DocumentOwner | null = null;
  private readonly listeners = new Set<() => void>();
  private readonly cleanups: (() => void)[] = [];
  private lastSnapshot: SessionSnapshot | null = null;
  private commands: Commands | null = null;
  /** The attempt has ended, and nothing has started since. */
  private attemptOver = false;
  private findNotRun: (() => string[]) | null = null; // Returns the cells that did not run when the connection broke; null: the connection did not break.
  private consoleId = 0;
  private missedVerdict: MissedVerdictReporter | null = null;
  /** Counts calls of start and stop: an overtaken start goes no further. */
  private generation = 0;
  private readonly kernel = new KernelStatus();

  constructor(
    private readonly config: Config,
    readonly session: string,
    readonly role: ConsoleRole,
  ) {
    const onChange = () => this.handleChange();
    const sendQuery = (message: OutgoingMessage) => this.backend.sendToAgent(message);
    this.services = new SessionServices(session, onChange, () => reportUnconfirmedMessages(this.services, sendQuery));
    const { store, notices } = this.services;
    this.auth = new SessionAuth({
      session,
      sandbox: config.eval_sandbox,
      onChange,
      onProblem: (text) => notices.add("error", `The session could not start: ${text}`),
    });
    this.edits = new UnsentEdits({
      store,
      sendEdit: (cell_id, source, rev) => this.backend.act("edit_cell", { cell_id, source, rev }),
      onConflicts: onChange,
      onRefused: (id, text, why) => reportRefusedEdit(this.services, this.commands, { id, text, why }),
      showText: (id, text) => this.showText(id, text),
      onUnsent: () => this.unsentDrafts.saveUnsentEdits(),
    });
    this.unsentDrafts = new UnsentDrafts(session, this.services, this.edits);
    this.connection = new ConsoleConnection({
      identity: () => this.identity(),
      receivedFromRun: (message) => this.handleRunMessage(message),
      receivedFromAgent: (message) => this.handleAgentMessage(message),
      changed: () => this.handleConnectionChange(),
    });
    const deleted = "The cell was deleted in a conflict. Your text is not lost.";
    const offerLostText = (text: string) => offerTextOfDeletedCell(this.services, this.commands, text, deleted);
    this.backend = createCommandBackend({
      services: this.services,
      connection: this.connection,
      edits: this.edits,
      owner: () => this.owner,
      offerLostText,
    });
  }

  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** Returns the session's data: the same object until something of it changes. */
  readonly snapshot = (): SessionSnapshot => {
    this.lastSnapshot ??= this.makeSnapshot();
    return this.lastSnapshot;
  };

  start(): void {
    const onLeave = () => this.saveAll();
    window.addEventListener("pagehide", onLeave);
    this.cleanups.push(
      () => window.removeEventListener("pagehide", onLeave),
      this.services.store.subscribe(() => this.handleStoreChange()),
    );
    void this.begin();
  }

  private handleStoreChange(): void {
    this.edits.updateConflicts();
    const over = this.services.store.get().verdict !== null;
    if (over === this.attemptOver) return;
    this.attemptOver = over;
    this.handleChange();
  }

  stop(): void {
    this.generation++;
    this.saveAll();
    this.auth.stop();
    this.services.conversation.stop();
    this.connection.stop();
    this.services.inbox.clear();
    this.services.requests.failAll("the page was left");
    for (const f of this.cleanups.splice(0)) f();
  }

  private async begin(): Promise<void> {
    const generation = ++this.generation;
    try {
      await this.connect(generation);
    } catch (error) {
      if (generation !== this.generation) return;
      const why = error instanceof Error ? error.message : String(error);
      const action = { label: "Try again", run: () => void this.begin() };
      this.services.notices.add("error", `The page could not begin: ${why}`, action);
    }
  }

  private async connect(turn: number): Promise<void> {
    const ready = this.auth.waitUntilReady();
    this.consoleId = await getConsoleId();
    this.owner ??= await this.createOwner();
    await this.owner.load();
    if (turn !== this.generation) return;
    this.unsentDrafts.load();
    this.missedVerdict ??= new MissedVerdictReporter(
      this.services,
      this.session,
      loadConnectionNumber(this.session).trace,
    );
    if (this.role === "holder") this.edits.resume();
    if ((await ready) && turn === this.generation) this.connection.start();
  }

  /** Sends all edits, and saves what cannot be sent. */
  private saveAll(): void {
    this.edits.sendAll();
    this.unsentDrafts.save();
    this.owner?.save();
  }

  private async createOwner(): Promise<DocumentOwner> {
    const { services, connection } = this;
    const sendToAgent = (message: unknown) => connection.sendToAgent(message);
    const onResumed = () => this.handleResumed();
    if (this.role === "view") return new ViewDocumentOwner(services, sendToAgent, onResumed);
    const { HolderDocumentOwner } = await import("./holder"); // loaded on demand: most pages are views
    const sendToRun = (message: unknown) => connection.sendToRun(message);
    const language = () => this.kernel.language || "python";
    const isConnected = () => connection.state === "connected";
    return new HolderDocumentOwner({
      services,
      consoleId: this.consoleId,
      session: this.session,
      language,
      sendToRun,
      sendToAgent,
      onResumed,
      isConnected,
    });
  }

  /**
   * Returns the identity for the next connection. With the number that it had before, the console
   * replaces a dead connection, and messages still under way on that one are not handled.
   */
  private identity(): ConsoleIdentity {
    const { session, role, consoleId: id, config } = this;
    return {
      session,
      role,
      id,
      number: loadConnectionNumber(session),
      sandbox: config.eval_sandbox,
      token: getToken(),
    };
  }

  private handleRunMessage(message: Message): void {
    if (message.type === "ready") {
      this.missedVerdict?.receive(message, this.connection.state !== "connected");
      saveConnectionNumber(this.session, { index: message.connection_idx, trace: message.trace ?? "" });
    }
    const isAboutKernel = this.kernel.receive(message);
    this.owner?.receiveFromRun(message);
    if (isAboutKernel) this.handleChange();
  }

  private handleAgentMessage(message: Message): void {
    this.missedVerdict?.receive(message, false);
    this.owner?.receiveFromAgent(message);
    if (message.type !== "notebook_event" || message.event !== "cell_edited") return;
    this.edits.cellEdited(message.cell_id ?? "", message.source ?? "", message.rev ?? 0);
  }

  private handleConnectionChange(): void {
    const { connection, auth } = this;
    if (connection.state === "connected") {
      auth.connected();
      this.owner?.connected();
    } else auth.startFollowingPhase();
    if (connection.state === "disconnected") this.handleDisconnect();
    this.handleChange();
  }

  private handleDisconnect(): void {
    const { services, connection } = this;
    services.requests.failAll("the connection was lost before the answer came");
    services.unconfirmed.handleDisconnect();
    const notRun = services.sentCells.handleDisconnect();
    this.findNotRun ??= notRun;
    this.auth.disconnected(connection.code, connection.reason);
  }

  /** Called when the notebook is known again: sends what was kept and reports what did not run. */
  private handleResumed(): void {
    this.edits.resume();
    this.unsentDrafts.clearEdits();
    reportCellsNotRun(this.services, this.findNotRun?.() ?? []);
    this.findNotRun = null;
  }

  /** Shows a text that the server does not have. The notebook of a holder changes only by actions. */
  private showText(id: string, source: string): void {
    if (this.role === "view") showUnsentTextInCell(this.services.store, id, source);
  }

  private makeSnapshot(): SessionSnapshot {
    const { connection, services, role, kernel } = this;
    const { state, code, reason, retryAt } = connection;
    const { phase, needsToken, tokenRefusal } = this.auth;
    const isOwner = this.config.eval_sandbox || kernel.isOwner;
    return {
      store: services.store,
      commands: this.commandsFor({
        isConnected: state === "connected",
        isOwner: isOwner,
        isAttemptOver: this.attemptOver,
      }),
      connection: { state, code, reason, retryAt, retry: this.retry },
      phase,
      needsToken,
      tokenRefusal,
      submitToken: this.submitToken,
      role,
      isOwner,
      language: kernel.language,
      kernelPid: kernel.pid,
      conflicts: this.edits.conflicts(),
      notices: services.notices.list,
      dismiss: this.dismiss,
    };
  }

  /** Returns the commands: the same object while the permissions are the same. */
  private commandsFor(access: SessionAccess): Commands {
    if (this.commands === null || this.commands.runProblem !== whyCannotRunCells(access)) {
      this.commands = createCommands(this.backend, access);
    }
    return this.commands;
  }

  private readonly submitToken = (token: string): void => {
    this.auth.acceptToken(token);
    this.connection.stop();
    this.handleChange();
    void this.begin();
  };

  private readonly retry = () => this.connection.retry();
  private readonly dismiss = (notice: number) => this.services.notices.dismiss(notice);

  private handleChange(): void {
    this.lastSnapshot = null;
    for (const f of [...this.listeners]) f();
  }
}
