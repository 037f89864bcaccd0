import { formatDuration } from "../../format/format";
import { type Entry, type HistoryMessage, type Message, type MessageOf, typeOfMessage } from "../../protocol/messages";
import { valueText } from "../../store/size";
import type { State } from "../../store/state";
import { plainName } from "../../text/displayText";

/** Returns a sentence that says what happened in an entry of a trace. state is the state after the entry. */
export function describeEntry(entry: Entry, state: State): string {
  const { hop, msg } = entry;
  const words = msg === null ? null : describeMessage(hop, msg, state);
  const type = msg === null ? entry.type : typeOfMessage(msg);
  return words ?? `${plainName(type || "something")} went ${plainName(hop).replace(">", " to ")}`;
}

function describeMessage(hop: string, msg: Message, state: State): string | null {
  if (hop === "notebook") return describeNotebookEvent(msg, state);
  if (hop === "kernel>server") return describeKernelMessage(msg, state);
  if (hop === "session") return describeSessionMessage(msg);
  return describeMessageOfAgent(msg);
}

/** Returns "cell 3" by the cell's position; "a cell" if it has none. */
function cellName(state: State, id: string | null | undefined): string {
  const index = state.notebook.order.indexOf(id ?? "");
  return index < 0 ? "a cell" : `cell ${index + 1}`;
}

const eventVerbs: Readonly<Record<string, string>> = {
  cell_created: "created",
  cell_edited: "edited",
  cell_deleted: "deleted",
  cell_moved: "moved",
};

const authorNames: Readonly<Record<string, string>> = { agent: "agent", console: "a person", server: "the server" };

function describeNotebookEvent(msg: Message, state: State): string {
  if (msg.type !== "notebook_event") return "a cell was changed";
  if (msg.event === "notebook_restored") return "the notebook of an earlier session was restored";
  const cell = cellName(state, msg.cell_id ?? msg.cell?.cell_id);
  const verb = Object.hasOwn(eventVerbs, msg.event) ? eventVerbs[msg.event] : "changed";
  const by = Object.hasOwn(authorNames, msg.by ?? "") ? authorNames[msg.by ?? ""] : undefined;
  return by === undefined ? `${cell} was ${verb}` : `${by} ${verb} ${cell}`;
}

function describeKernelMessage(msg: Message, state: State): string {
  switch (msg.type) {
    case "start_cell":
      return msg.cell_id === null ? "the kernel is idle" : `${cellName(state, msg.cell_id)} started`;
    case "cell_result":
      return describeResult(msg, state);
    case "kernel_stdio":
      return `${cellName(state, msg.active_cell)} printed to ${plainName(msg.stream) || "stdout"}`;
    case "cell_output":
      return `${cellName(state, msg.cell_id)} showed an output`;
    case "cell_widgets":
      return `widgets of ${cellName(state, msg.cell_id)} changed`;
    case "ready":
      return "the kernel is ready";
    default:
      return `the kernel sent ${plainName(typeOfMessage(msg))}`;
  }
}

function describeResult(msg: MessageOf<"cell_result">, state: State): string {
  const cell = cellName(state, msg.cell_id);
  const ms = msg.duration_ms ?? state.notebook.executions[msg.cell_id]?.durationMs ?? null;
  const after = ms === null ? "" : ` after ${formatDuration(ms)}`;
  if (msg.status === "interrupted") return `${cell} was interrupted${after}`;
  const exception = msg.exception === false ? "" : valueText(msg.exception);
  const hasFailed = msg.status === "error" || msg.has_exception || exception !== "";
  return `${cell} ${hasFailed ? "failed" : "ended"}${after}`;
}

function describeSessionMessage(msg: Message): string {
  switch (msg.type) {
    case "managed_process_exit":
      return `the ${plainName(msg.name) || "process"} ended`;
    case "peer_ended":
      return `the connection to the ${plainName(msg.peer) || "process"} ended`;
    case "state":
      return `the session is ${plainName(msg.state)}`;
    case "holder":
      return `the ${plainName(msg.by)} holds the notebook`;
    default:
      return `the session recorded ${plainName(typeOfMessage(msg))}`;
  }
}

const otherDescriptions: Readonly<Record<string, string>> = {
  kernel_message: "the agent was notified of a cell",
  model_call: "agent called its model",
  model_wait: "agent's call of its model waits for others, or no longer",
  model_silence: "nothing came from the agent's model for some time",
  model_reply: "the agent's call of its model ended",
  model_rejected: "a request to the agent's model server was rejected",
};

function describeMessageOfAgent(msg: Message): string | null {
  switch (msg.type) {
    case "agent_query":
      return "the agent received a prompt";
    case "agent_history_updated":
      return describeHistoryMessage(msg.entry);
    case "agent_action":
      return `agent requested ${plainName(msg.action ?? "")}`;
    case "agent_action_response":
      return msg.status === "error" ? "an action of the agent failed" : "an action of the agent succeeded";
    case "agent_status":
      return `agent is ${plainName(msg.status.replaceAll("_", " "))}`;
    case "agent_error":
      return `agent failed: ${plainName(msg.error)}`;
    case "agent_result":
      return "agent submitted its answer";
    case "agent_event":
      return `agent reported ${plainName(msg.metadata.type ?? "something")}`;
    case "agent_usage_update":
      return "agent reported its usage";
    case "other":
      return Object.hasOwn(otherDescriptions, msg.name) ? (otherDescriptions[msg.name] ?? null) : null;
    default:
      return null;
  }
}

/** Describes a message of the conversation: its author, and the tools that it calls. */
function describeHistoryMessage(message: HistoryMessage | undefined): string {
  if (message?.role === "user") return "the agent received a message";
  const tools = (message?.content ?? [])
    .filter((block) => block.type === "tool_use")
    .map((block) => plainName(block.name ?? ""));
  return tools.length > 0 ? `agent called ${tools.join(", ")}` : "agent sent a message";
}
