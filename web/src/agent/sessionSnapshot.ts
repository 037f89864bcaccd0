import type { Commands } from "../commands/commands";
import type { EditConflict } from "../commands/conflicts";
import type { Store } from "../store/store";

/** What the page does in a session. view: the server holds the notebook. holder: this page holds it. */
export type ConsoleRole = "view" | "holder";

/** The state of a live session and the functions that act on it, as components see it. */
export interface SessionSnapshot {
  store: Store;
  /** null: there is nothing to act on yet. */
  commands: Commands | null;
  connection: Connection;
  /** Phase of the session on the server; null: unknown, or not asked for. */
  phase: SessionPhase | null;
  /** A token must be submitted before anything else. */
  needsToken: boolean;
  tokenRefusal: string | null; // Why the last token was refused; null: none was given.
  submitToken(token: string): void;
  role: ConsoleRole;
  /** This console may run and stop cells, set widgets, restart, and talk to the agent. */
  isOwner: boolean;
  /** Language of code cells; "": unknown. */
  language: string;
  /** Process id; 0: there is no kernel, or it is unknown. */
  kernelPid: number;
  /** By cell id. */
  conflicts: Readonly<Record<string, EditConflict>>;
  notices: readonly Notice[];
  dismiss(notice: number): void;
}

/** Phase of a session on the server. */
export type SessionPhase = "creating" | "starting" | "running" | "stopping" | "stopped";

export type ConnectionState = "disconnected" | "wsConnecting" | "connected";

/** The state of the page's connections to the server. */
export interface Connection {
  state: ConnectionState;
  /** Close code of the last connection, as in docs/consoles.md; null: none has ended. */
  code: number | null;
  /** Why it ended, for the user; "" if no reason was given. */
  reason: string;
  /** Time of the next try in milliseconds as of Date.now(); null: no try without the user. */
  retryAt: number | null;
  /** Connects now. */
  retry(): void;
}

/** A message shown to the user until it is dismissed. */
export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
  /** What the user can do about it, once. */
  action?: { label: string; run(): void };
  /** Called when the notice is dismissed. */
  onDismiss?: () => void;
}
