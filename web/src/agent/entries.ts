import {
  type Entry,
  type Hop,
  type Message,
  type OutgoingMessage,
  readMessage,
  typeOfMessage,
} from "../protocol/messages";

const executionTypes = new Set([
  "start_cell",
  "kernel_stdio",
  "cell_output",
  "cell_result",
  "run_queue",
  "cell_widgets",
]);
const serverToConsoleTypes = new Set(["eval_result", "managed_process_exit", "ready"]);

/** Reports whether a message is about the execution of cells, such as start_cell or cell_result. */
export function isExecutionMessage(message: Message): boolean {
  return executionTypes.has(typeOfMessage(message));
}

/**
 * Returns a message to a console as the trace entry that it corresponds to; null if the trace has
 * no such entry.
 */
export function entryOfConsoleMessage(message: Message): Entry | null {
  const hop = hopOfConsoleMessage(message);
  return hop && { seq: message.seq ?? 0, hop, msg: message, at: performance.now() };
}

function hopOfConsoleMessage(message: Message): Hop | null {
  const type = typeOfMessage(message);
  if (type === "notebook_event") return "notebook";
  if (executionTypes.has(type)) return "kernel>server";
  if (serverToConsoleTypes.has(type)) return "server>console";
  if (type === "agent_error") return (message.seq ?? 0) > 0 ? "agent>server" : null;
  return type.startsWith("agent_") && type !== "agent_action" && type !== "agent_action_response"
    ? "agent>server"
    : null;
}

/**
 * Returns a message sent by this page as a trace entry. The server does not send it back, so the
 * page adds it itself.
 */
export function entryOfSentMessage(hop: "server>kernel" | "console>server", message: OutgoingMessage): Entry {
  return { seq: 0, hop, msg: readMessage(message), at: performance.now() };
}
