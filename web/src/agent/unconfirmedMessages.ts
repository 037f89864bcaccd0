import type { Message, OutgoingMessage } from "../protocol/messages";

/** A query to the agent in the form in which it was sent. */
export interface SentQuery {
  type: "agent_query";
  query: string;
  request_id: string;
}

/** A request to restart the kernel or the agent in the form in which it was sent. */
interface SentRestart {
  type: "managed_process_restart";
  name: string;
}

/** A sent message that may not have arrived: a query to the agent, or a restart. */
export interface UnconfirmedMessage {
  message: SentQuery | SentRestart;
  /** Number of the newest entry when it was sent: the message comes after that. */
  after: number;
}

const maxUnconfirmedMessages = 50;

/**
 * Messages that this page has sent and the server has not confirmed. They are in doubt after the
 * connection was lost, and reported to the user if the trace does not have them either.
 */
export class UnconfirmedMessages {
  private waiting: readonly UnconfirmedMessage[] = [];
  private inDoubt: readonly UnconfirmedMessage[] = [];
  private reported: readonly UnconfirmedMessage[] = [];

  /** Adds a message that was sent after entry `after`. Ignores messages other than queries and restarts. */
  add(sent: OutgoingMessage | SentQuery, after: number): void {
    if (sent.type !== "agent_query" && sent.type !== "managed_process_restart") return;
    const message = sent as SentQuery | SentRestart;
    this.waiting = [...this.waiting, { message, after }].slice(-maxUnconfirmedMessages);
  }

  /** Handles a message, or an entry of the trace with its seq, that may confirm sent messages. */
  receive(received: Message, seq = 0): void {
    const isOpen = ({ message, after }: UnconfirmedMessage) =>
      (seq > 0 && seq <= after) || !confirmsSentMessage(received, message);
    this.waiting = this.waiting.filter(isOpen);
    this.inDoubt = this.inDoubt.filter(isOpen);
    this.reported = this.reported.filter(isOpen);
  }

  /** Called when the connection is lost: what waits for confirmation is in doubt. */
  handleDisconnect(): void {
    this.inDoubt = [...this.inDoubt, ...this.waiting].slice(-maxUnconfirmedMessages);
    this.waiting = [];
  }

  /** Returns the entry after which the trace may confirm what is in doubt; null if nothing is. */
  confirmableAfter(): number | null {
    return this.inDoubt.length === 0 ? null : Math.min(...this.inDoubt.map(({ after }) => after));
  }

  /** Returns what is still in doubt. The caller reports it. */
  takeInDoubt(): readonly UnconfirmedMessage[] {
    const all = this.inDoubt;
    this.reported = [...this.reported, ...all].slice(-maxUnconfirmedMessages);
    this.inDoubt = [];
    return all;
  }

  /** Called when the user has dismissed the report of a message. */
  dismiss(message: UnconfirmedMessage["message"]): void {
    this.reported = this.reported.filter((word) => word.message !== message);
  }

  /** Returns the queries that are not confirmed, to be saved while the page is reloaded. */
  save(): SentQuery[] {
    const all = [...this.reported, ...this.inDoubt, ...this.waiting].map(({ message }) => message);
    return all.filter((message) => message.type === "agent_query");
  }

  /** Restores saved queries, which are in doubt. */
  load(saved: readonly SentQuery[]): void {
    const known = this.save().map(({ request_id }) => request_id);
    const added = saved.filter(({ request_id }) => !known.includes(request_id));
    this.inDoubt = [...this.inDoubt, ...added.map((message) => ({ message, after: 0 }))].slice(-maxUnconfirmedMessages);
  }
}

function confirmsSentMessage(received: Message, sent: SentQuery | SentRestart): boolean {
  if (sent.type === "agent_query") return requestIdsOf(received).includes(sent.request_id);
  if (received.type === "ready") return sent.name === "kernel";
  const isProcessMessage = received.type === "managed_process_restart" || received.type === "managed_process_exit";
  return isProcessMessage && received.name === sent.name;
}

/** Returns the request ids of the queries that a message answers or reports. */
function requestIdsOf(message: Message): unknown[] {
  const ids: unknown[] = "request_id" in message ? [message.request_id] : [];
  if (message.type === "agent_history_updated") ids.push(message.entry?.request_id);
  if (message.type === "agent_event") ids.push(message.metadata.request_id);
  return ids;
}
