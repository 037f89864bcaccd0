import type { ConversationItem, Usage } from "../store/state";

/** Returns the tokens of all prompts, cached or not. */
export function promptTokens(usage: Usage): number {
  return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
}

/** Returns the tokens of all prompts and replies, which a token limit counts. */
export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output_tokens;
}

/** Returns the number of assistant messages, which a turn limit counts. */
export function assistantMessageCount(conversation: readonly ConversationItem[]): number {
  const messages = new Set<number>();
  for (const item of conversation) {
    if (item.kind === "thinking" || item.kind === "tool" || (item.kind === "text" && item.role === "assistant")) {
      messages.add(item.seq);
    }
  }
  return messages.size;
}
