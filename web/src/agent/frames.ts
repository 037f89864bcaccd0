import { numberOrZero } from "../json/read";
import type { Entry, Hop, Message } from "../protocol/messages";

const ofRuns = new Set(["start_cell", "kernel_stdio", "cell_output", "cell_result", "run_queue", "cell_widgets"]);
const ofServer = new Set(["eval_result", "managed_process_exit", "ready"]);

/** Whether a frame is of the runs of cells. */
export function isOfRuns(message: Message): boolean {
  return ofRuns.has(message.type);
}

/** A frame that a console was sent as the entry of the trace that it is; null: it is none. */
export function entryOf(message: Message): Entry | null {
  const hop = hopOf(message);
  return hop && { seq: numberOrZero(message.seq), hop, msg: message, at: performance.now() };
}

function hopOf(message: Message): Hop | null {
  const { type } = message;
  if (type === "notebook_event") return "notebook";
  if (ofRuns.has(type)) return "kernel>server";
  if (ofServer.has(type)) return "server>console";
  if (type === "agent_error") return numberOrZero(message.seq) > 0 ? "agent>server" : null;
  return type.startsWith("agent_") && type !== "agent_action" && type !== "agent_action_response"
    ? "agent>server"
    : null;
}

/** An entry of what this page has sent itself, which comes back to it in no frame. */
export function sentEntry(hop: "server>kernel" | "console>server", msg: Message): Entry {
  return { seq: 0, hop, msg, at: performance.now() };
}
