import { numberOf } from "../json/read";
import type { Usage } from "../protocol/messages";
import type { Item } from "../store/state";

/** Tokens of all prompts, cached or not. */
export function promptTokens(usage: Usage): number {
  const parts = [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens];
  return parts.reduce<number>((sum, part) => sum + (numberOf(part) ?? 0), 0);
}

/** Tokens of all prompts and replies: what a limit of tokens counts. */
export function allTokens(usage: Usage): number {
  return promptTokens(usage) + (numberOf(usage.output_tokens) ?? 0);
}

/** Messages of the assistant: what a limit of turns counts. */
export function turnsOf(conversation: readonly Item[]): number {
  const messages = new Set<number>();
  for (const item of conversation) {
    if (item.kind === "thinking" || item.kind === "tool" || (item.kind === "text" && item.role === "assistant")) {
      messages.add(item.seq);
    }
  }
  return messages.size;
}
