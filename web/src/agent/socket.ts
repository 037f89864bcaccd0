import { isObject, numberOrZero } from "../json/read";
import type { Message } from "../protocol/messages";
import { LifeSigns } from "./lifeSigns";

export interface SocketEvents {
  opened(): void;
  received(message: Message): void;
  /** Called once, unless the socket was closed by us. code and reason as in docs/consoles.md. */
  closed(code: number, reason: string): void;
}

/** How long the server may take to accept a connection, in milliseconds. */
const openWithin = 10_000;

/** Why a connection is given up by the page itself. */
export const silence = "the server does not answer";

/**
 * A WebSocket of JSON messages. What cannot be read is logged and passed over. It ends
 * as one that was lost when the server does not accept it, or gives no sign of life
 * any more; slack is how many times as patient as usual it is.
 */
export class Socket {
  private readonly ws: WebSocket;
  private readonly late: ReturnType<typeof setTimeout>;
  private readonly life: LifeSigns;
  private over = false;

  constructor(
    url: string,
    private readonly events: SocketEvents,
    slack = 1,
  ) {
    const silent = () => this.end(1006, silence);
    this.ws = new WebSocket(url);
    this.late = setTimeout(silent, openWithin);
    this.life = new LifeSigns(silent, slack);
    this.ws.onopen = () => {
      clearTimeout(this.late);
      if (!this.over) events.opened();
    };
    this.ws.onmessage = (event) => this.read(event.data);
    this.ws.onclose = (event) => this.end(event.code, event.reason);
  }

  /** false: it is not open, and nothing was sent. */
  send(message: unknown): boolean {
    if (this.over || this.ws.readyState !== WebSocket.OPEN) return false;
    this.ws.send(JSON.stringify(message));
    return true;
  }

  /** Closes it. No event follows. */
  close(): void {
    this.over = true;
    clearTimeout(this.late);
    this.life.stop();
    this.ws.close();
  }

  private read(data: unknown): void {
    if (this.over) return;
    this.life.heard();
    const message = parse(data);
    if (message?.type === "alive") this.life.promised(numberOrZero(message.every_ms));
    else if (message === null) console.warn("[AgentConnection] A message of the server cannot be read.");
    else this.events.received(message);
  }

  private end(code: number, reason: string): void {
    if (this.over) return;
    this.close();
    this.events.closed(code, reason);
  }
}

function parse(data: unknown): Message | null {
  if (typeof data !== "string") return null;
  try {
    const message: unknown = JSON.parse(data);
    return isObject(message) && typeof message.type === "string" ? (message as Message) : null;
  } catch {
    return null;
  }
}
