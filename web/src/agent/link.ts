import type { Message } from "../protocol/messages";
import { comesBack, delayOf } from "./backoff";
import { AgentConnection } from "./connection";
import type { ConnectionState } from "./live";
import { type Console, RunConnection } from "./run";
import { silence } from "./socket";

/** How long a connection must have lasted for the next try to be made soon again, in milliseconds. */
const steady = 5_000;

export interface LinkEvents {
  /** Who the console is now: it is asked before each try. */
  console(): Console;
  fromRun(message: Message): void;
  fromAgent(message: Message): void;
  /** state, code, reason or retryAt have changed. */
  changed(): void;
}

/**
 * A console's two connections as one: they are made one after the other, and when
 * one of them ends so does the other.
 *
 *     disconnected --start, retry, time--> wsConnecting --both are up--> connected
 *          ^------------------------------- either ends --------------------'
 */
export class Link {
  state: ConnectionState = "disconnected";
  code: number | null = null;
  reason = "";
  retryAt: number | null = null;
  private run: RunConnection | null = null;
  private agent: AgentConnection | null = null;
  private tries = 0;
  private since = 0;
  /** A page that has given up a connection once may have a slow one, and is more patient from then on. */
  private slack = 1;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly events: LinkEvents) {}

  /** Connects, and connects again when that is of use, until stop. */
  start(): void {
    window.addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
    this.connect();
  }

  stop(): void {
    window.removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
    this.end("the page is done with it");
    this.state = "disconnected";
    this.retryAt = null;
  }

  /** Connects at once, unless it does already. */
  retry(): void {
    if (this.state !== "disconnected") return;
    this.tries = 0;
    this.connect();
  }

  /** false: there is no connection, and nothing was sent. */
  sendRun(message: unknown): boolean {
    return this.state === "connected" && this.run?.send(message) === true;
  }

  /** false: there is no connection, and nothing was sent. */
  sendAgent(message: unknown): boolean {
    return this.state === "connected" && this.agent?.send(message) === true;
  }

  /** The network is back, or somebody looks again: no need to wait longer. */
  private readonly hurry = () => {
    const may = this.retryAt !== null && document.visibilityState !== "hidden";
    if (may) this.retry();
  };

  private connect(): void {
    this.end("it is made anew");
    this.state = "wsConnecting";
    this.retryAt = null;
    this.events.changed();
    const console = this.events.console();
    const events = {
      received: (message: Message) => this.events.fromRun(message),
      ready: (index: number) => this.ready(console, index),
      closed: this.lost,
    };
    this.run = new RunConnection(console, events, this.slack);
  }

  private ready(console: Console, index: number): void {
    if (this.agent !== null) return;
    const events = {
      connected: () => this.connected(),
      received: (message: Message) => this.events.fromAgent(message),
      closed: this.lost,
    };
    this.agent = new AgentConnection(console, index, events, this.slack);
  }

  private connected(): void {
    this.state = "connected";
    this.code = null;
    this.reason = "";
    this.since = Date.now();
    this.events.changed();
  }

  private readonly lost = (code: number, reason: string): void => {
    if (reason === silence) this.slack = 2;
    if (this.state === "connected" && Date.now() - this.since > steady) this.tries = 0;
    this.end("the other connection has ended");
    this.state = "disconnected";
    this.code = code;
    this.reason = reason;
    if (comesBack(code, reason)) {
      const delay = delayOf(this.tries++);
      this.retryAt = Date.now() + delay;
      this.timer = setTimeout(() => this.connect(), delay);
    }
    this.events.changed();
  };

  private end(why: string): void {
    clearTimeout(this.timer);
    this.run?.close();
    this.agent?.close(why);
    this.run = null;
    this.agent = null;
  }
}
