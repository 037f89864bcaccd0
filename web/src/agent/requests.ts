import { isObject, textOf } from "../json/read";
import type { Message } from "../protocol/messages";
import { plainWords } from "./plainWords";

/** How long an answer may take, in milliseconds: longer than the server's own deadlines. */
const within = 15_000;

interface Pending {
  resolve(answer: Message): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

/** Questions to the server whose answers have not come yet, by the id that comes back with them. */
export class Requests {
  private readonly pending = new Map<string, Pending>();

  /** Asks, by sending a message with a new id. The promise is rejected with an error that says why there is no answer. */
  ask(send: (tx: string) => boolean): Promise<Message> {
    const tx = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(tx, "the server did not answer"), within);
      this.pending.set(tx, { resolve, reject, timer });
      if (!send(tx)) this.fail(tx, "there is no connection");
    });
  }

  /** Takes a message for the answer that it is; false: it is none. */
  settle(message: Message): boolean {
    const tx = textOf(message.tx_id) || textOf(message.agent_tx_id);
    const asked = this.take(tx);
    if (asked === undefined) return false;
    const problem = problemOf(message);
    if (problem === null) asked.resolve(message);
    else asked.reject(new RequestError(problem, message));
    return true;
  }

  /** Ends all that wait: the connection is gone. */
  failAll(why: string): void {
    for (const tx of [...this.pending.keys()]) this.fail(tx, why);
  }

  private fail(tx: string, why: string): void {
    this.take(tx)?.reject(new Error(why));
  }

  private take(tx: string): Pending | undefined {
    const asked = this.pending.get(tx);
    this.pending.delete(tx);
    clearTimeout(asked?.timer);
    return asked;
  }
}

/** The server's refusal, with all of its answer. */
export class RequestError extends Error {
  constructor(
    text: string,
    readonly answer: Message,
  ) {
    super(text);
    this.name = "RequestError";
  }
}

function problemOf(message: Message): string | null {
  const refused = message.type === "error" || message.type === "not_session_owner_error";
  if (refused) return errorText(message);
  return message.status === "error"
    ? plainWords(textOf(message.error)) || widgetErrors(message) || "the server refused"
    : null;
}

function widgetErrors(message: Message): string {
  return isObject(message.errors) ? Object.values(message.errors).map(textOf).join("; ") : "";
}

/** Whether an error says why an agent could not be restarted. */
export function isRestartError(message: Message): boolean {
  return /^managed_process_restart: .*\bagent\b/s.test(wireText(message));
}

function wireText(message: Message): string {
  const data = isObject(message.data) ? textOf(message.data.message) : "";
  return data || textOf(message.error);
}

/** The text of an error of the server's, in plain words. */
export function errorText(message: Message): string {
  return plainWords(wireText(message)) || "The server has reported an error, and does not say which.";
}
