import { readEntries } from "../../protocol/messages";
import { initialState, reduceEntries } from "../../store/reducer";
import type { ConversationItem } from "../../store/state";

/** How much of a conversation is loaded, in bytes. */
export const maxConversationBytes = 32 * 1024 * 1024;

/** Reports whether an agent itself has sent some of its conversation, apart from events and errors. */
export function hasReply(items: readonly ConversationItem[]): boolean {
  return items.some(
    ({ kind, ...item }) => kind === "tool" || kind === "thinking" || ("role" in item && item.role === "assistant"),
  );
}

/** Returns the items of a conversation.jsonl, without an incomplete last line. */
export function itemsOfConversation(text: string): readonly ConversationItem[] {
  const lines = text.split("\n").slice(0, -1);
  const entries = lines.map((line, i) => ({
    seq: i + 1,
    hop: "agent>server",
    msg: { type: "agent_history_updated", entry: JSON.parse(line) },
  }));
  return reduceEntries(initialState, readEntries(entries)).agent.conversation;
}
