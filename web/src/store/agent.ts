import { type Fields, isObject, numberOrZero, textOf } from "../json/read";
import type { AgentDraft } from "./agentDraft";
import { foldHistory, foldQuery } from "./history";
import type { AgentStatus, Item } from "./state";
import { foldStream } from "./stream";

const statuses: readonly string[] = [
  "ready",
  "thinking",
  "executing",
  "awaiting_user_response",
  "awaiting_cell_execution",
  "awaiting_user_widget_input",
  "done",
] satisfies AgentStatus[];

/** Takes in a frame of the agent that is entry seq; 0: the server's own word, or one that is in no trace yet. */
export function foldAgent(agent: AgentDraft, seq: number, frame: Fields): void {
  if (seq !== 0 && seq <= agent.cleared) return;
  foldItems(agent, seq, frame);
  if (seq !== 0 && seq <= agent.seq) return;
  agent.seq = Math.max(agent.seq, seq);
  foldState(agent, seq, frame);
}

/** What was said and done. It is put where it belongs, however late it is heard of. */
function foldItems(agent: AgentDraft, seq: number, frame: Fields): void {
  switch (frame.type) {
    case "agent_history_updated":
      if (isObject(frame.entry)) foldHistory(agent, seq, frame.entry, textOf(frame.request_id));
      return;
    case "agent_event":
      agent.conversation.insert(seq, [eventOf(seq, frame)]);
      return;
    case "agent_error": {
      const text = textOf(frame.error) || "the agent has reported an error, and does not say which";
      agent.conversation.insert(seq, [{ kind: "error", seq, text, fatal: frame.fatal === true }]);
      return;
    }
    case "agent_result":
      agent.conversation.insert(seq, [submissionOf(seq, frame.structured_output)]);
      return;
  }
}

function eventOf(seq: number, frame: Fields): Item {
  const metadata = isObject(frame.metadata) ? frame.metadata : {};
  return { kind: "event", seq, event: textOf(metadata.type), text: textOf(frame.text), metadata };
}

/** A submission without a tool call, as the call that it stands for. */
function submissionOf(seq: number, input: unknown): Item {
  const result = { isError: false, content: [] };
  return { kind: "tool", seq, id: `result-${seq}`, name: "submit_response", input, result };
}

function foldState(agent: AgentDraft, seq: number, frame: Fields): void {
  const comes = frame.type === "ready" || (frame.type === "agent_status" && frame.status === "ready");
  if (comes && agent.status === "gone") foldRestart(agent, seq);
  switch (frame.type) {
    case "ready":
      agent.status = "starting";
      return;
    case "agent_status":
      foldStatus(agent, frame.status);
      return;
    case "agent_usage_update":
      agent.usage = usageOf(frame);
      return;
    case "agent_event":
      foldEventState(agent, frame.metadata);
      return;
    default:
      foldStream(agent, frame);
  }
}

/** Another agent has come in the place of the one that is gone: a mark that stays between the two. */
function foldRestart(agent: AgentDraft, seq: number): void {
  const stopped = { event: "stopped", text: "The agent was stopped, to be restarted." };
  if (agent.restarting) agent.conversation.rename("exit", stopped);
  agent.restarting = false;
  const text = "The agent was restarted. It knows nothing of what stands above.";
  agent.conversation.insert(seq, [{ kind: "event", seq, event: "restarted", text, metadata: {} }]);
}

function foldStatus(agent: AgentDraft, status: unknown): void {
  if (typeof status !== "string" || !statuses.includes(status)) return;
  if (agent.status === "gone" && status !== "ready") return; // said before it went, and heard after
  agent.status = status as AgentStatus;
  if (status !== "ready" && status !== "done") return;
  agent.stream = null;
  agent.request = null;
}

function foldEventState(agent: AgentDraft, metadata: unknown): void {
  if (!isObject(metadata)) return;
  const ends = metadata.type === "ended" || metadata.type === "cancelled";
  if (ends && metadata.request_id === agent.request) agent.request = null;
}

function usageOf(frame: Fields) {
  return {
    input_tokens: numberOrZero(frame.input_tokens),
    output_tokens: numberOrZero(frame.output_tokens),
    cache_read_input_tokens: numberOrZero(frame.cache_read_input_tokens),
    cache_creation_input_tokens: numberOrZero(frame.cache_creation_input_tokens),
    context_limit: numberOrZero(frame.context_limit),
    cost_usd: typeof frame.cost_usd === "number" ? frame.cost_usd : null,
  };
}

/** Takes in what was sent to the agent, by the server or by a person. */
export function foldToAgent(agent: AgentDraft, seq: number, frame: Fields): void {
  if (seq !== 0 && seq <= agent.cleared) return;
  if (frame.type === "agent_query") foldQuery(agent, seq, frame);
  if (frame.type === "managed_process_restart" && frame.name === "agent") agent.restarting = agent.status !== "gone";
  if (frame.type !== "agent_clear_history") return;
  agent.conversation.clear();
  agent.stream = null;
  agent.cleared = seq || agent.seq;
}

/** Takes in that the agent is gone, with the message that says so. */
export function foldAgentEnd(agent: AgentDraft, seq: number, message: Fields): void {
  if (agent.status === "gone" || (seq !== 0 && seq <= agent.seq)) return;
  agent.status = "gone";
  agent.stream = null;
  agent.request = null;
  const { exit_code: code, signal, reason } = message;
  const how = textOf(signal) || (typeof code === "number" ? `exit code ${code}` : textOf(reason));
  const text = how === "" ? "The agent has ended." : `The agent has ended: ${how}.`;
  agent.conversation.insert(seq, [{ kind: "event", seq, event: "exit", text, metadata: message }]);
}
