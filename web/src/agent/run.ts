import type { Message } from "../protocol/messages";
import { numberOf } from "../store/read";
import { socketURL, tokenFor } from "./address";
import { Socket, type SocketEvents } from "./socket";

/** Who a console is: what it says of itself at both of its connections. */
export interface Console {
  session: string;
  sandbox: boolean;
  token: string | null;
  role: "view" | "holder";
  /** By which the server knows it again. */
  id: number;
  /** The number that it had at /run before, and wants again; 0: none. */
  index: number;
}

export interface RunEvents extends Omit<SocketEvents, "opened"> {
  /** The server has said under which number it knows this connection; again, when a kernel was restarted. */
  ready(index: number): void;
}

/** The connection to /run: what is run, and what the kernel says. */
export class RunConnection {
  private readonly socket: Socket;

  constructor(console: Console, events: RunEvents) {
    const { session, sandbox, token, id, index } = console;
    this.socket = new Socket(socketURL("/run", session), {
      opened: () => {
        const again = index > 0 ? { connection_idx: index } : {};
        this.send({ token: tokenFor(sandbox, token), notebook_id: `console-${id}`, ...again });
      },
      received: (message: Message) => {
        events.received(message);
        if (message.type === "ready") events.ready(numberOf(message.connection_idx));
      },
      closed: events.closed,
    });
  }

  /** false: it is not open. */
  send(message: unknown): boolean {
    return this.socket.send(message);
  }

  close(): void {
    this.socket.close();
  }
}
