import { isObject } from "../json/values";
import type { Message, MessageOf } from "../protocol/messages";
import type { AgentDraft } from "./agentDraft";
import { addQueryToConversation, applyHistoryMessage } from "./history";
import type { AgentStatus, ConversationItem } from "./state";
import { applyStreamFrame } from "./streamedReply";

const agentStatuses: readonly string[] = [
  "ready",
  "thinking",
  "executing",
  "awaiting_user_response",
  "awaiting_cell_execution",
  "awaiting_user_widget_input",
  "done",
] satisfies AgentStatus[];

/** Applies a message of the agent, which is entry seq of the trace; seq 0: it is not in the trace yet. Messages from before the history was cleared are ignored. */
export function applyAgentMessage(agent: AgentDraft, seq: number, message: Message): void {
  if (seq !== 0 && seq <= agent.cleared) return;
  addConversationItems(agent, seq, message);
  if (seq !== 0 && seq <= agent.seq) return;
  agent.seq = Math.max(agent.seq, seq);
  updateAgentState(agent, seq, message);
}

/** Adds the texts, tool calls, events and errors of a message to the conversation. A late message is inserted in the order of entries. */
function addConversationItems(agent: AgentDraft, seq: number, message: Message): void {
  switch (message.type) {
    case "agent_history_updated":
      if (message.entry !== undefined) applyHistoryMessage(agent, seq, message.entry, message.request_id ?? "");
      return;
    case "agent_event": {
      const { text, metadata } = message;
      const event = typeof metadata.type === "string" ? metadata.type : "";
      agent.conversation.insert(seq, [{ kind: "event", seq, event, text, metadata }]);
      return;
    }
    case "agent_error": {
      const text = message.error || "the agent has reported an error without a text";
      agent.conversation.insert(seq, [{ kind: "error", seq, text, fatal: message.fatal }]);
      return;
    }
    case "agent_result":
      agent.conversation.insert(seq, [submissionToolCall(seq, message.structured_output)]);
      return;
  }
}

/** Returns a submission without a tool call as the tool call that it stands for. */
function submissionToolCall(seq: number, input: unknown): ConversationItem {
  const result = { isError: false, content: [] };
  return { kind: "tool", seq, id: `result-${seq}`, name: "submit_response", input, result };
}

/** Updates the agent's status, usage, current query and streamed reply. */
function updateAgentState(agent: AgentDraft, seq: number, message: Message): void {
  const isStart = message.type === "ready" || (message.type === "agent_status" && message.status === "ready");
  if (isStart && agent.status === "gone") addRestartEvent(agent, seq);
  switch (message.type) {
    case "ready":
      agent.status = "starting";
      return;
    case "agent_status":
      setAgentStatus(agent, message.status);
      return;
    case "agent_usage_update": {
      const { type: _, seq: __, ...usage } = message;
      agent.usage = usage;
      return;
    }
    case "agent_event": {
      const { metadata } = message;
      const isEnd = metadata.type === "ended" || metadata.type === "cancelled";
      if (isEnd && metadata.request_id === agent.request) agent.request = null;
      return;
    }
    default:
      applyStreamFrame(agent, message);
  }
}

/** Marks in the conversation that another agent has replaced the one that ended. */
function addRestartEvent(agent: AgentDraft, seq: number): void {
  const stopped = { event: "stopped", text: "The agent was stopped to be restarted." };
  if (agent.restarting) agent.conversation.changeNewestEvent("exit", stopped);
  agent.restarting = false;
  const text = "The agent was restarted. It does not know the conversation above.";
  agent.conversation.insert(seq, [{ kind: "event", seq, event: "restarted", text, metadata: {} }]);
}

/** Sets the agent's status. An unknown one is ignored; an idle agent has no reply and no query. */
function setAgentStatus(agent: AgentDraft, status: string): void {
  if (!agentStatuses.includes(status)) return;
  if (agent.status === "gone" && status !== "ready") return; // sent before the agent ended, received after
  agent.status = status as AgentStatus;
  if (status !== "ready" && status !== "done") return;
  agent.stream = null;
  agent.request = null;
}

/** Applies a message that the server or a person has sent to the agent. */
export function applyMessageToAgent(agent: AgentDraft, seq: number, message: Message): void {
  if (seq !== 0 && seq <= agent.cleared) return;
  if (message.type === "agent_query") addQueryToConversation(agent, seq, message);
  if (message.type === "managed_process_restart" && message.name === "agent") {
    agent.restarting = agent.status !== "gone";
  }
  if (message.type !== "agent_clear_history") return;
  agent.conversation.clear();
  agent.stream = null;
  agent.cleared = seq || agent.seq;
}

/** Applies the end of the agent, with the message that reports it. */
export function applyAgentExit(agent: AgentDraft, seq: number, message: Message): void {
  if (agent.status === "gone" || (seq !== 0 && seq <= agent.seq)) return;
  agent.status = "gone";
  agent.stream = null;
  agent.request = null;
  const cause = agentExitCause(message);
  const text = cause === "" ? "The agent has ended." : `The agent has ended: ${cause}.`;
  const metadata = isObject(message) ? message : {};
  agent.conversation.insert(seq, [{ kind: "event", seq, event: "exit", text, metadata }]);
}

/** Returns why the agent ended: the reason, the signal or the exit code. */
function agentExitCause(message: Message): string {
  if (message.type === "peer_ended") return message.reason;
  const { signal, exit_code } = message as MessageOf<"managed_process_exit">;
  return signal || `exit code ${exit_code}`;
}
