import { withQuery } from "../api/client";
import { socketURL } from "../api/sockets";
import type { Message } from "../protocol/messages";
import type { ConnectionNumber } from "./consoleIdentity";
import { Socket, type SocketEvents } from "./socket";

/** How a console identifies itself at both connections. */
export interface ConsoleIdentity {
  session: string;
  sandbox: boolean;
  token: string | null;
  role: "view" | "holder";
  /** The number by which the server recognises the console. */
  id: number;
  /** The number that /run gave it before, which it asks for again. */
  number: ConnectionNumber;
}

export interface KernelConnectionEvents extends Omit<SocketEvents, "opened"> {
  /** The server has sent the number of this connection; again after a restart of the kernel. */
  ready(index: number): void;
}

/** The connection to /run, which carries commands to the kernel and the kernel's messages. */
export class KernelConnection {
  private readonly socket: Socket;

  /** patience is that of Socket. */
  constructor(identity: ConsoleIdentity, events: KernelConnectionEvents, patience: number) {
    const { session, sandbox, token, id, number } = identity;
    const socketEvents: SocketEvents = {
      opened: () => {
        const isKnown = number.index > 0 && number.trace !== "";
        const previous = isKnown ? { connection_idx: number.index, trace: number.trace } : {};
        this.send({ token: tokenToSend(sandbox, token), notebook_id: `console-${id}`, alive: true, ...previous });
      },
      received: (message: Message) => {
        events.received(message);
        if (message.type === "ready") events.ready(message.connection_idx);
      },
      closed: events.closed,
    };
    this.socket = new Socket(socketURL(withQuery("/run", { session })), socketEvents, patience);
  }

  /** Returns false if the connection is not open. */
  send(message: unknown): boolean {
    return this.socket.send(message);
  }

  close(): void {
    this.socket.close();
  }
}

/** The token that the server accepts in sandbox mode, for development on one machine. */
const sandboxModeToken = "local-dev-token";

/** Returns the token to send: a fixed one in sandbox mode, else the given one; "" for none. */
export function tokenToSend(sandbox: boolean, given: string | null): string {
  return sandbox ? sandboxModeToken : (given ?? "");
}
