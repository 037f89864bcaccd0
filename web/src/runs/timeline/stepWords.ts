import { duration } from "../../format/format";
import { type Fields, fieldsOf, listOf, numberOf, textOf } from "../../json/read";
import type { Entry } from "../../protocol/messages";
import type { State } from "../../store/state";
import { plainName } from "../../text/visible";

/** What happened with an entry, in words; state is the one after it. */
export function stepWords(entry: Entry, state: State): string {
  const msg = fieldsOf(entry.msg);
  const type = textOf(msg.type) || textOf(fieldsOf(entry).type);
  const cell = cellName(state, textOf(msg.cell_id) || textOf(msg.active_cell) || textOf(fieldsOf(msg.cell).cell_id));
  if (entry.hop === "notebook") return noteWords(msg, cell);
  if (entry.hop === "kernel>server") return kernelWords(type, msg, cell, state);
  if (entry.hop === "session") return sessionWords(type, msg);
  return agentWords(type, msg) ?? `${plainName(type) || "something"} went ${plainName(entry.hop).replace(">", " to ")}`;
}

/** "cell 3", by its place; "a cell" where it has none. */
function cellName(state: State, id: string): string {
  const at = state.notebook.order.indexOf(id);
  return at < 0 ? "a cell" : `cell ${at + 1}`;
}

const verbs: Readonly<Record<string, string>> = {
  cell_created: "created",
  cell_edited: "edited",
  cell_deleted: "deleted",
  cell_moved: "moved",
};

function noteWords(msg: Fields, cell: string): string {
  const event = textOf(msg.event);
  if (event === "notebook_restored") return "the notebook of an earlier session was taken over";
  const verb = Object.hasOwn(verbs, event) ? verbs[event] : "changed";
  const by = { agent: "agent", console: "a person", server: "the server" }[textOf(msg.by)];
  return by === undefined ? `${cell} was ${verb}` : `${by} ${verb} ${cell}`;
}

function kernelWords(type: string, msg: Fields, cell: string, state: State): string {
  switch (type) {
    case "start_cell":
      return msg.cell_id === null ? "the kernel is idle" : `${cell} began to run`;
    case "cell_result":
      return resultWords(msg, cell, state);
    case "kernel_stdio":
      return `${cell} printed to ${plainName(textOf(msg.stream)) || "stdout"}`;
    case "cell_output":
      return `${cell} showed an output`;
    case "cell_widgets":
      return `widgets of ${cell} changed`;
    case "ready":
      return "the kernel is ready";
    default:
      return `the kernel sent ${plainName(type)}`;
  }
}

function resultWords(msg: Fields, cell: string, state: State): string {
  const ms = numberOf(msg.duration_ms) ?? state.notebook.runs[textOf(msg.cell_id)]?.durationMs ?? null;
  const took = ms === null ? "" : ` after ${duration(ms)}`;
  if (msg.status === "interrupted") return `${cell} was interrupted${took}`;
  const failed = msg.status === "error" || msg.has_exception === true || textOf(msg.exception) !== "";
  return `${cell} ${failed ? "failed" : "ended"}${took}`;
}

function sessionWords(type: string, msg: Fields): string {
  if (type === "managed_process_exit") return `the ${plainName(textOf(msg.name)) || "process"} ended`;
  if (type === "peer_ended") return `the connection to the ${plainName(textOf(msg.peer)) || "process"} ended`;
  if (type === "state") return `the session is ${plainName(textOf(msg.state))}`;
  if (type === "holder") return `the ${plainName(textOf(msg.by))} holds the notebook`;
  return `the session noted ${plainName(type)}`;
}

function agentWords(type: string, msg: Fields): string | null {
  switch (type) {
    case "agent_query":
      return "the agent got something to do";
    case "agent_history_updated":
      return messageWords(fieldsOf(msg.entry));
    case "agent_action":
      return `agent asked for ${plainName(textOf(msg.action))}`;
    case "agent_action_response":
      return msg.status === "error" ? "an action of the agent failed" : "an action of the agent was answered";
    case "agent_status":
      return `agent is ${plainName(textOf(msg.status).replaceAll("_", " "))}`;
    case "agent_error":
      return `agent failed: ${plainName(textOf(msg.error))}`;
    case "agent_result":
      return "agent handed in its answer";
    case "agent_event":
      return `agent told of ${plainName(textOf(fieldsOf(msg.metadata).type)) || "something"}`;
    case "agent_usage_update":
      return "agent told what it has used";
    case "kernel_message":
      return "the agent was told of a run";
    default:
      return null;
  }
}

/** A message of the conversation: who spoke, and what tools were called. */
function messageWords(message: Fields): string {
  if (message.role === "user") return "the agent was told something";
  const tools = listOf(message.content)
    .map(fieldsOf)
    .filter((block) => block.type === "tool_use")
    .map((block) => plainName(textOf(block.name)));
  return tools.length > 0 ? `agent called ${tools.join(", ")}` : "agent said something";
}
