import { isObject, textOf } from "../json/read";
import type { Message } from "../protocol/messages";

/** What was sent and may not have come: a question to the agent, or that something be restarted. */
export interface SentWord {
  message: Message;
  /** The newest entry that was known when it was sent: it comes behind that. */
  after: number;
}

/** Most that are waited for. */
const most = 50;

/** What this page has sent of which nothing shows yet that it has come. */
export class SentWords {
  private waiting: readonly SentWord[] = [];
  private doubtful: readonly SentWord[] = [];
  /** A person was told that nothing shows that they have come. */
  private told: readonly SentWord[] = [];

  add(message: Message, after: number): void {
    if (message.type !== "agent_query" && message.type !== "managed_process_restart") return;
    this.waiting = [...this.waiting, { message, after }].slice(-most);
  }

  /** Takes in a frame, or an entry of the trace with its seq, that may show that something has come. */
  heard(frame: Message, seq = 0): void {
    const open = ({ message, after }: SentWord) => (seq > 0 && seq <= after) || !shows(frame, message);
    this.waiting = this.waiting.filter(open);
    this.doubtful = this.doubtful.filter(open);
    this.told = this.told.filter(open);
  }

  /** The connection is lost: what nothing was heard of may not have come. */
  lost(): void {
    this.doubtful = [...this.doubtful, ...this.waiting].slice(-most);
    this.waiting = [];
  }

  /** The entry behind which the trace tells of what is in doubt; null: nothing is. */
  since(): number | null {
    return this.doubtful.length === 0 ? null : Math.min(...this.doubtful.map(({ after }) => after));
  }

  /** What is in doubt still, to be told of. */
  take(): readonly SentWord[] {
    const all = this.doubtful;
    this.told = [...this.told, ...all].slice(-most);
    this.doubtful = [];
    return all;
  }

  /** The person who was told of a word needs it no more. */
  forget(message: Message): void {
    this.told = this.told.filter((word) => word.message !== message);
  }

  /** The questions that have not come, as far as is known, to be kept while the page is loaded again. */
  save(): Message[] {
    const all = [...this.told, ...this.doubtful, ...this.waiting].map(({ message }) => message);
    return all.filter(({ type }) => type === "agent_query");
  }

  /** Takes back what was saved: it is in doubt. */
  load(saved: readonly Message[]): void {
    const known = this.save().map(({ request_id }) => request_id);
    const fresh = saved.filter(({ request_id }) => !known.includes(request_id));
    this.doubtful = [...this.doubtful, ...fresh.map((message) => ({ message, after: 0 }))].slice(-most);
  }
}

function shows(frame: Message, sent: Message): boolean {
  if (sent.type === "agent_query") return requestsOf(frame).includes(textOf(sent.request_id));
  if (frame.type === "ready") return sent.name === "kernel";
  return /^managed_process_(restart|exit)$/.test(frame.type) && frame.name === sent.name;
}

/** The queries that a frame is of. */
function requestsOf(frame: Message): string[] {
  return [frame, frame.entry, frame.metadata].flatMap((part) => (isObject(part) ? [textOf(part.request_id)] : []));
}
