import { withQuery } from "../api/client";
import { socketURL } from "../api/socketURL";
import { numberOrZero } from "../json/read";
import type { Message } from "../protocol/messages";
import { tokenFor } from "./address";
import type { Given } from "./identity";
import { Socket, type SocketEvents } from "./socket";

/** Who a console is: what it says of itself at both of its connections. */
export interface Console {
  session: string;
  sandbox: boolean;
  token: string | null;
  role: "view" | "holder";
  /** By which the server knows it again. */
  id: number;
  /** What it was given at /run before, and wants again. */
  given: Given;
}

export interface RunEvents extends Omit<SocketEvents, "opened"> {
  /** The server has said under which number it knows this connection; again, when a kernel was restarted. */
  ready(index: number): void;
}

/** The connection to /run: what is run, and what the kernel says. */
export class RunConnection {
  private readonly socket: Socket;

  /** slack as of Socket. */
  constructor(console: Console, events: RunEvents, slack: number) {
    const { session, sandbox, token, id, given } = console;
    const heard: SocketEvents = {
      opened: () => {
        const known = given.index > 0 && given.trace !== "";
        const again = known ? { connection_idx: given.index, trace: given.trace } : {};
        this.send({ token: tokenFor(sandbox, token), notebook_id: `console-${id}`, alive: true, ...again });
      },
      received: (message: Message) => {
        events.received(message);
        if (message.type === "ready") events.ready(numberOrZero(message.connection_idx));
      },
      closed: events.closed,
    };
    this.socket = new Socket(socketURL(withQuery("/run", { session })), heard, slack);
  }

  /** false: it is not open. */
  send(message: unknown): boolean {
    return this.socket.send(message);
  }

  close(): void {
    this.socket.close();
  }
}
