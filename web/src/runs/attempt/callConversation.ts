import { isSubmissionTool } from "../../agentPanel/toolName";
import { parseTimeMs } from "../../json/values";
import { type Entry, readEntries } from "../../protocol/messages";
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
  /** Its lines as entries of a trace, which have the times at which they came. */
  entries: readonly Entry[];
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
    .map((line) => JSON.parse(line) as { call?: unknown; timestamp?: unknown } | null);
  const entries = messages.map((entry, i) => ({
    seq: i + 1,
    wall: entry?.timestamp,
    hop: "agent>server",
    msg: { type: "agent_history_updated", entry },
  }));
  const calls = messages.flatMap((entry, i) => (typeof entry?.call === "number" ? [[i + 1, entry.call] as const] : []));
  const read = readEntries(entries);
  return { entries: read, items: conversationOf(read), callOfSeq: new Map(calls) };
}

/** Returns the lines that had come by a time of day, in milliseconds since 1970. */
export function linesUntil({ entries }: StoredConversation, ms: number): readonly Entry[] {
  return entries.filter(({ wall }) => (parseTimeMs(wall) ?? Number.POSITIVE_INFINITY) <= ms);
}

/** Returns what lines of a stored conversation say. */
export function conversationOf(lines: readonly Entry[]): readonly ConversationItem[] {
  return reduceEntries(initialState, lines).agent.conversation;
}

/** Adds to what is stored the errors that the agent has sent; if nothing is stored, all that it has sent. */
export function withErrors(
  stored: readonly ConversationItem[],
  sent: readonly ConversationItem[],
): readonly ConversationItem[] {
  return stored.length === 0 ? sent : [...stored, ...sent.filter((item) => item.kind === "error")];
}
