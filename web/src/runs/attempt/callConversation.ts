import { isSubmissionTool } from "../../agentPanel/toolName";
import { readEntries } from "../../protocol/messages";
import { initialState, reduceEntries } from "../../store/reducer";
import type { ConversationItem } from "../../store/state";

/** How much of a conversation is loaded, in bytes. */
export const maxConversationBytes = 32 * 1024 * 1024;

/** Reports whether an agent itself has sent some of its conversation, apart from events, errors and submissions. */
export function hasReply(items: readonly ConversationItem[]): boolean {
  return items.some(
    (item) =>
      (item.kind === "tool" && !isSubmissionTool(item.name)) ||
      item.kind === "thinking" ||
      ("role" in item && item.role === "assistant"),
  );
}

/** The conversation of a conversation.jsonl that was made from calls of models. */
export interface StoredConversation {
  /** Their seq is the number of the line, from 1. */
  items: readonly ConversationItem[];
  /** The number of the call whose reply a line is, by its number. */
  callOfSeq: ReadonlyMap<number, number>;
}

/** Reads a conversation.jsonl without an incomplete last line. */
export function readConversation(text: string): StoredConversation {
  const messages = text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { call?: unknown } | null);
  const entries = messages.map((entry, i) => ({
    seq: i + 1,
    hop: "agent>server",
    msg: { type: "agent_history_updated", entry },
  }));
  const calls = messages.flatMap((entry, i) => (typeof entry?.call === "number" ? [[i + 1, entry.call] as const] : []));
  return { items: reduceEntries(initialState, readEntries(entries)).agent.conversation, callOfSeq: new Map(calls) };
}
