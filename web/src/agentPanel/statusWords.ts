import type { AgentStatus, Item } from "../store/state";
import type { Tone } from "../ui/Badge";
import { toolName } from "./gist";

/** What the agent is doing, in words. */
export interface StatusWords {
  text: string;
  /** It is at work, and can be stopped. */
  busy: boolean;
  tone: Tone;
}

const words: Readonly<Record<AgentStatus, StatusWords>> = {
  starting: { text: "Starting", busy: false, tone: "neutral" },
  ready: { text: "Ready", busy: false, tone: "neutral" },
  thinking: { text: "Thinking", busy: true, tone: "agent" },
  executing: { text: "Working", busy: true, tone: "agent" },
  awaiting_user_response: { text: "Waiting for your answer", busy: false, tone: "warn" },
  awaiting_cell_execution: { text: "Waiting for a cell to end", busy: true, tone: "agent" },
  awaiting_user_widget_input: { text: "Waiting for you to set a widget", busy: true, tone: "warn" },
  done: { text: "Done", busy: false, tone: "good" },
  gone: { text: "Gone: its process has ended", busy: false, tone: "bad" },
};

/** The same when an attempt has ended: that the agent is gone is as it should be. */
const ended: StatusWords = { text: "Ended with the attempt", busy: false, tone: "neutral" };

/** over: an attempt has ended. */
export function statusWords(status: AgentStatus, over = false): StatusWords {
  if (over && status === "gone") return ended;
  return Object.hasOwn(words, status) ? words[status] : { text: "Unknown", busy: false, tone: "neutral" };
}

/** How far back a call without an answer is looked for. */
const furthest = 20;

/** The name of the newest tool that has been called and has not answered; null: there is none. */
export function openTool(conversation: readonly Item[]): string | null {
  for (const item of conversation.slice(-furthest).reverse()) {
    if (item.kind === "tool" && item.result === undefined) return toolName(item.name);
    if (item.kind === "text" && item.role === "user") return null;
  }
  return null;
}
