import { type Message, readMessage } from "../protocol/messages";
import { Heartbeat } from "./heartbeat";

export interface SocketEvents {
  opened(): void;
  received(message: Message): void;
  /**
   * Called once, unless the page has closed the socket. code and reason are those of
   * docs/consoles.md.
   */
  closed(code: number, reason: string): void;
}

/** How many milliseconds the server may take to accept a connection. */
const openTimeoutMs = 10_000;

/** The reason of a connection that the page closed because the server was silent. */
export const silenceCloseReason = "the server does not answer";

/**
 * A WebSocket that carries JSON messages. A malformed message is logged and ignored. A connection
 * that is not accepted, or that is silent for too long, ends like a lost one; patience multiplies
 * these timeouts.
 */
export class Socket {
  private readonly ws: WebSocket;
  private readonly openTimer: ReturnType<typeof setTimeout>;
  private readonly heartbeat: Heartbeat;
  private isClosed = false;

  constructor(
    url: string,
    private readonly events: SocketEvents,
    patience = 1,
  ) {
    const onSilent = () => this.endWith(1006, silenceCloseReason);
    this.ws = new WebSocket(url);
    this.openTimer = setTimeout(onSilent, openTimeoutMs);
    this.heartbeat = new Heartbeat(onSilent, patience);
    this.ws.onopen = () => {
      clearTimeout(this.openTimer);
      if (!this.isClosed) events.opened();
    };
    this.ws.onmessage = (event) => this.receive(event.data);
    this.ws.onclose = (event) => this.endWith(event.code, event.reason);
  }

  /** Returns false if the socket is not open. */
  send(message: unknown): boolean {
    if (this.isClosed || this.ws.readyState !== WebSocket.OPEN) return false;
    this.ws.send(JSON.stringify(message));
    return true;
  }

  /** Closes the socket. No event follows. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.openTimer);
    this.heartbeat.stop();
    this.ws.close();
  }

  private receive(data: unknown): void {
    if (this.isClosed) return;
    this.heartbeat.received();
    const message = parseSocketMessage(data);
    if (message?.type === "alive") this.heartbeat.expectEvery(message.every_ms);
    else if (message === null) console.warn("[AgentConnection] Ignored a message of the server that cannot be read.");
    else this.events.received(message);
  }

  private endWith(code: number, reason: string): void {
    if (this.isClosed) return;
    this.close();
    this.events.closed(code, reason);
  }
}

function parseSocketMessage(data: unknown): Message | null {
  if (typeof data !== "string") return null;
  try {
    return readMessage(JSON.parse(data));
  } catch {
    return null;
  }
}
