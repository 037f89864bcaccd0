import { withQuery } from "../api/client";
import { socketURL } from "../api/socketURL";
import type { Message } from "../protocol/messages";
import { tokenFor } from "./address";
import type { Console } from "./run";
import { Socket, type SocketEvents } from "./socket";

export interface AgentEvents extends Omit<SocketEvents, "opened"> {
  /** The server has let the console in, as far as can be told. */
  connected(): void;
}

/** The connection to /agent: the notebook, and what the agent says. */
export class AgentConnection {
  private readonly socket: Socket;
  private up = false;

  /** index is the number of the console's connection to /run; slack as of Socket. */
  constructor(console: Console, index: number, events: AgentEvents, slack: number) {
    const { session, sandbox, token, role, id } = console;
    const connected = () => {
      if (this.up) return;
      this.up = true;
      log("Connected");
      events.connected();
    };
    const given = tokenFor(sandbox, token);
    const heard: SocketEvents = {
      opened: () => {
        this.send({ type: "init", session_id: id, connection_idx: index, role, token: given, alive: true });
        if (role === "holder") connected(); // a holder is told nothing; who may not be one is sent away
      },
      received: (message: Message) => {
        if (message.type === "notebook_state") connected();
        events.received(message);
      },
      closed: (code, reason) => {
        this.up = false;
        log(`Disconnected (${code}${reason === "" ? "" : `: ${reason}`})`);
        events.closed(code, reason);
      },
    };
    this.socket = new Socket(socketURL(withQuery("/agent", { session })), heard, slack);
  }

  /** false: it is not open. */
  send(message: unknown): boolean {
    return this.socket.send(message);
  }

  /** Closes it for a reason of ours. */
  close(why: string): void {
    if (this.up) log(`Disconnected (1000: ${why})`);
    this.socket.close();
  }
}

function log(text: string): void {
  console.info(`[AgentConnection] ${text}`);
}
