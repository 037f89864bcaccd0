import type { Commands } from "../commands/commands";
import type { Conflict } from "../commands/conflicts";
import type { Store } from "../store/store";

/** view: the server holds the notebook; holder: this page does. */
export type Role = "view" | "holder";

/** A live session as the page has it. */
export interface Live {
  store: Store;
  /** null: nothing can be done here yet. */
  commands: Commands | null;
  connection: Connection;
  /** Where the session is; null: that is not known, or not asked for. */
  phase: Phase | null;
  /** A token must be given before anything else; `tokenRefused` says why the last one would not do. */
  needToken: boolean;
  tokenRefused: string | null;
  submitToken(token: string): void;
  role: Role;
  /** This console may run, stop, set, restart, and talk to the agent. */
  sessionOwner: boolean;
  /** What code cells are written in; "" while that is not known. */
  language: string;
  /** 0: there is no kernel, or it is not known. */
  kernelPid: number;
  /** By cell id. */
  conflicts: Readonly<Record<string, Conflict>>;
  notices: readonly Notice[];
  dismiss(notice: number): void;
}

export type Phase = "creating" | "starting" | "running" | "stopping" | "stopped";

export type ConnectionState = "disconnected" | "wsConnecting" | "connected";

export interface Connection {
  state: ConnectionState;
  /** How the last connection ended, as in docs/consoles.md; null: none has. */
  code: number | null;
  /** Its reason, a text for people; "" where there was none. */
  reason: string;
  /** When the next try is, in milliseconds as of Date.now(); null: none will be made by itself. */
  retryAt: number | null;
  /** Tries again at once. */
  retry(): void;
}

/** Something that went wrong, or that a person should know. */
export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
  /** What can be done about it, at most once. */
  action?: { label: string; run(): void };
  /** Called when it has been dismissed. */
  dismissed?: () => void;
}
