import { withQuery } from "../api/client";
import { socketURL } from "../api/sockets";
import type { Message } from "../protocol/messages";
import type { ConsoleIdentity } from "./kernelConnection";
import { tokenToSend } from "./kernelConnection";
import { Socket, type SocketEvents } from "./socket";

export interface AgentConnectionEvents extends Omit<SocketEvents, "opened"> {
  /** The console is connected: the server has sent the notebook to a view, or a holder's connection is open. */
  connected(): void;
}

/** The connection to /agent, which carries the notebook and the agent's messages. */
export class AgentConnection {
  private readonly socket: Socket;
  private isConnected = false;

  /** index is the number that /run has given the console. patience is that of Socket. */
  constructor(identity: ConsoleIdentity, index: number, events: AgentConnectionEvents, patience: number) {
    const { session, sandbox, token, role, id } = identity;
    const connected = () => {
      if (this.isConnected) return;
      this.isConnected = true;
      logConnection("Connected");
      events.connected();
    };
    const sentToken = tokenToSend(sandbox, token);
    const socketEvents: SocketEvents = {
      opened: () => {
        this.send({ type: "init", session_id: id, connection_idx: index, role, token: sentToken, alive: true });
        if (role === "holder") connected(); // the server sends a holder nothing at first, and disconnects one that it does not accept
      },
      received: (message: Message) => {
        if (message.type === "notebook_state") connected();
        events.received(message);
      },
      closed: (code, reason) => {
        this.isConnected = false;
        logConnection(`Disconnected (${code}${reason === "" ? "" : `: ${reason}`})`);
        events.closed(code, reason);
      },
    };
    this.socket = new Socket(socketURL(withQuery("/agent", { session })), socketEvents, patience);
  }

  /** Returns false if the connection is not open. */
  send(message: unknown): boolean {
    return this.socket.send(message);
  }

  /** Closes the connection. why is logged. */
  close(why: string): void {
    if (this.isConnected) logConnection(`Disconnected (1000: ${why})`);
    this.socket.close();
  }
}

function logConnection(text: string): void {
  console.info(`[AgentConnection] ${text}`);
}
