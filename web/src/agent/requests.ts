import { attemptOverText, notOwnerText } from "../commands/access";
import type { Message, MessageOf, NotebookActionResponse } from "../protocol/messages";

/** How many milliseconds the server may take to answer a request: longer than its internal timeouts. */
const requestTimeoutMs = 15_000;

type AnswerType = "notebook_action_response" | "set_widget_value_response" | "globals_summary" | "reactivity_summary";

type ErrorType = "error" | "not_session_owner_error";

interface PendingRequest {
  answerType: AnswerType;
  resolve(answer: Message): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * Requests to the server that wait for an answer, by the id that the answer repeats. A request
 * without an answer in time rejects.
 */
export class Requests {
  private readonly pending = new Map<string, PendingRequest>();

  /**
   * Sends a request with a new id and resolves to its answer, a message of type answerType.
   * Rejects with an error that says why there is no answer.
   */
  request<K extends AnswerType>(answerType: K, send: (txId: string) => boolean): Promise<MessageOf<K>> {
    const txId = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(txId, "the server did not answer"), requestTimeoutMs);
      this.pending.set(txId, { answerType, resolve: (answer) => resolve(answer as MessageOf<K>), reject, timer });
      if (!send(txId)) this.fail(txId, "there is no connection");
    });
  }

  /** Settles the request that a message answers. Returns false if it answers none. */
  settle(message: MessageOf<AnswerType | ErrorType>): boolean {
    const agentTxId = "agent_tx_id" in message ? message.agent_tx_id : undefined;
    const request = this.take(message.tx_id || agentTxId || "");
    if (request === undefined) return false;
    const failure = refusalTextOfAnswer(message);
    if (failure !== null) request.reject(new RequestError(failure, "source" in message ? message : {}));
    else if (message.type !== request.answerType) request.reject(new Error("the server sent another answer"));
    else request.resolve(message);
    return true;
  }

  /** Rejects all requests: the connection is gone. */
  failAll(why: string): void {
    for (const txId of [...this.pending.keys()]) this.fail(txId, why);
  }

  private fail(txId: string, why: string): void {
    this.take(txId)?.reject(new Error(why));
  }

  private take(txId: string): PendingRequest | undefined {
    const request = this.pending.get(txId);
    this.pending.delete(txId);
    clearTimeout(request?.timer);
    return request;
  }
}

/** The server's refusal of a request, with the fields of its answer. */
export class RequestError extends Error {
  constructor(
    text: string,
    readonly answer: Pick<NotebookActionResponse, "error" | "source" | "rev">,
  ) {
    super(text);
    this.name = "RequestError";
  }
}

function refusalTextOfAnswer(message: MessageOf<AnswerType | ErrorType>): string | null {
  if (message.type === "error" || message.type === "not_session_owner_error") return userErrorText(message);
  if (message.status !== "error") return null;
  const widgetErrors = "errors" in message ? Object.values(message.errors).join("; ") : "";
  return userTextOfServerText(message.error ?? "") || widgetErrors || "the server refused";
}

type ErrorMessage = Pick<MessageOf<ErrorType>, "error"> & { data?: { message: string } };

/** Reports whether an error message is about an agent that could not be restarted. */
export function isAgentRestartError(message: ErrorMessage): boolean {
  return /^managed_process_restart: .*\bagent\b/s.test(serverErrorText(message));
}

function serverErrorText({ data, error = "" }: ErrorMessage): string {
  return data?.message || error;
}

/** Returns the text of a server's error message, worded for the user. */
export function userErrorText(message: ErrorMessage): string {
  return userTextOfServerText(serverErrorText(message)) || "The server has reported an error without a text.";
}

/** Texts of the server that name protocol messages, with the texts that the user sees instead. */
const userTextsByServerPattern: readonly (readonly [RegExp, string])[] = [
  [/\bthe session has ended\b/, attemptOverText],
  [/\banother console owns this session\b/, notOwnerText],
  [/\bthis session is only shown\b/, "This session is read-only."],
  [/^there is no kernel to \w+/, "There is no kernel. Restart it to go on."],
  [/^the kernel is ending\b/, "The kernel is ending. Restart it to go on."],
  [/^the kernel does not read\b/, "The kernel has too much to do: wait, or restart it."],
  [/\ba case is attached: the end of\b/, "Kernel and agent cannot be restarted during an attempt."],
];

/** Matches the name of a message or an action at the beginning of a server's error text. */
const messageNamePrefixPattern = /^[a-z]+(?:_[a-z]+)+: /;

/**
 * Returns a server's text worded for the user. From an unknown text only the message name at its
 * beginning is removed.
 */
export function userTextOfServerText(text: string): string {
  const known = userTextsByServerPattern.find(([pattern]) => pattern.test(text));
  return known === undefined ? text.replace(messageNamePrefixPattern, "") : known[1];
}
