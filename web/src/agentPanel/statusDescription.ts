import type { AgentStatus, ConversationItem } from "../store/state";
import type { Tone } from "../ui/Badge";
import { toolName } from "./toolName";

/** The text and tone of the agent's status. */
export interface StatusDescription {
  text: string;
  /** Whether the agent is working and can be cancelled. */
  busy: boolean;
  tone: Tone;
}

const statusDescriptions: Readonly<Record<AgentStatus, StatusDescription>> = {
  starting: { text: "Starting", busy: false, tone: "neutral" },
  ready: { text: "Ready", busy: false, tone: "neutral" },
  thinking: { text: "Thinking", busy: true, tone: "agent" },
  executing: { text: "Working", busy: true, tone: "agent" },
  awaiting_user_response: { text: "Waiting for your answer", busy: false, tone: "warn" },
  awaiting_cell_execution: { text: "Waiting for a cell to end", busy: true, tone: "agent" },
  awaiting_user_widget_input: { text: "Waiting for you to set a widget", busy: true, tone: "warn" },
  done: { text: "Done", busy: false, tone: "good" },
  gone: { text: "Exited", busy: false, tone: "bad" },
};

/** Description of an exited agent after an attempt, when the exit is expected. */
const endedWithAttemptDescription: StatusDescription = { text: "Ended with the attempt", busy: false, tone: "neutral" };

/** Returns the description of an agent's status. attemptOver says whether an attempt has ended. */
export function describeStatus(status: AgentStatus, attemptOver = false): StatusDescription {
  if (attemptOver && status === "gone") return endedWithAttemptDescription;
  return Object.hasOwn(statusDescriptions, status)
    ? statusDescriptions[status]
    : { text: "Unknown", busy: false, tone: "neutral" };
}

/** How many of the newest conversation items are searched for an open tool call. */
const maxItemsSearched = 20;

/** Returns the name of the newest tool call without a result; null if there is none. */
export function nameOfOpenToolCall(conversation: readonly ConversationItem[]): string | null {
  for (const item of conversation.slice(-maxItemsSearched).reverse()) {
    if (item.kind === "tool" && item.result === undefined) return toolName(item.name);
    if (item.kind === "text" && item.role === "user") return null;
  }
  return null;
}
