import type { Message } from "../protocol/messages";
import { AgentConnection } from "./connection";
import { type ConsoleIdentity, KernelConnection } from "./kernelConnection";
import type { ConnectionState } from "./sessionSnapshot";
import { silenceCloseReason } from "./socket";

/** Delay in milliseconds before the first retry; maxRetryDelayMs is the longest one. */
const firstRetryDelayMs = 250;
const maxRetryDelayMs = 10_000;

/**
 * Returns the delay in milliseconds before connection retry n, counted from 0. It doubles with each
 * retry and has a random part, so that consoles do not all reconnect at once.
 */
export function retryDelay(n: number, random: () => number = Math.random): number {
  return Math.min(maxRetryDelayMs, firstRetryDelayMs * 2 ** Math.min(n, 10)) * (0.5 + 0.5 * random());
}

/**
 * Reports whether the page reconnects by itself after a connection ended with this close code and
 * reason; see docs/consoles.md, "How connections end". True for a server that has stopped, because
 * it may be started again.
 */
export function isRetriedAfterClose(code: number, reason: string): boolean {
  switch (code) {
    case 1009:
    case 4001:
    case 4009:
      return false;
    case 1008:
      return reason.startsWith("too slow") || reason.startsWith("no sign of life");
    default:
      return true;
  }
}

/** Reports whether the server closed the connection because the token was wrong or missing. */
export function isCloseForToken(code: number, reason: string): boolean {
  return code === 1008 && reason.includes("token");
}

/**
 * How many milliseconds a connection must have lasted for the retry delay to start from the
 * beginning again.
 */
const minSteadyConnectionMs = 5_000;

export interface ConsoleConnectionEvents {
  /** Returns the console's identity for the next try. */
  identity(): ConsoleIdentity;
  receivedFromRun(message: Message): void;
  receivedFromAgent(message: Message): void;
  /** state, code, reason or retryAt have changed. */
  changed(): void;
}

/**
 * Manages a console's connections to /run and /agent together: opens one after the other, and
 * closes both when one ends.
 */
export class ConsoleConnection {
  state: ConnectionState = "disconnected";
  code: number | null = null;
  reason = "";
  retryAt: number | null = null;
  private run: KernelConnection | null = null;
  private agent: AgentConnection | null = null;
  private tries = 0;
  private connectedAt = 0;
  /** 2 after a connection was closed because of silence: it may be slow. */
  private patience = 1;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly events: ConsoleConnectionEvents) {}

  /** Connects, and reconnects until stop. */
  start(): void {
    window.addEventListener("online", this.retrySoon);
    document.addEventListener("visibilitychange", this.retrySoon);
    this.connect();
  }

  stop(): void {
    window.removeEventListener("online", this.retrySoon);
    document.removeEventListener("visibilitychange", this.retrySoon);
    this.closeBoth("the page is done with it");
    this.state = "disconnected";
    this.retryAt = null;
  }

  /** Connects now, unless it is connected or connecting. */
  retry(): void {
    if (this.state !== "disconnected") return;
    this.tries = 0;
    this.connect();
  }

  /** Sends to /run. Returns false if there is no connection. */
  sendToRun(message: unknown): boolean {
    return this.state === "connected" && this.run?.send(message) === true;
  }

  /** Sends to /agent. Returns false if there is no connection. */
  sendToAgent(message: unknown): boolean {
    return this.state === "connected" && this.agent?.send(message) === true;
  }

  /** Retries now: the network is back, or the page is visible again. */
  private readonly retrySoon = () => {
    const shouldRetry = this.retryAt !== null && document.visibilityState !== "hidden";
    if (shouldRetry) this.retry();
  };

  private connect(): void {
    this.closeBoth("it is made anew");
    this.state = "wsConnecting";
    this.retryAt = null;
    this.events.changed();
    const identity = this.events.identity();
    const events = {
      received: (message: Message) => this.events.receivedFromRun(message),
      ready: (index: number) => this.connectAgent(identity, index),
      closed: this.handleClosed,
    };
    this.run = new KernelConnection(identity, events, this.patience);
  }

  private connectAgent(identity: ConsoleIdentity, index: number): void {
    if (this.agent !== null) return;
    const events = {
      connected: () => this.handleConnected(),
      received: (message: Message) => this.events.receivedFromAgent(message),
      closed: this.handleClosed,
    };
    this.agent = new AgentConnection(identity, index, events, this.patience);
  }

  private handleConnected(): void {
    this.state = "connected";
    this.code = null;
    this.reason = "";
    this.connectedAt = Date.now();
    this.events.changed();
  }

  private readonly handleClosed = (code: number, reason: string): void => {
    if (reason === silenceCloseReason) this.patience = 2;
    if (this.state === "connected" && Date.now() - this.connectedAt > minSteadyConnectionMs) this.tries = 0;
    this.closeBoth("the other connection has ended");
    this.state = "disconnected";
    this.code = code;
    this.reason = reason;
    if (isRetriedAfterClose(code, reason)) {
      const delay = retryDelay(this.tries++);
      this.retryAt = Date.now() + delay;
      this.timer = setTimeout(() => this.connect(), delay);
    }
    this.events.changed();
  };

  private closeBoth(why: string): void {
    clearTimeout(this.timer);
    this.run?.close();
    this.agent?.close(why);
    this.run = null;
    this.agent = null;
  }
}
