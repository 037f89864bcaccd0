import { object, read, string } from "../json/schema";
import { jsonOrEmpty } from "../json/values";
import type { ContentBlock, HistoryMessage, MessageOf, TokenCounts } from "../protocol/messages";
import type { AgentDraft } from "./agentDraft";
import type { ConversationItem, ToolResult } from "./state";
import { endStreamedReply } from "./streamedReply";

/** Applies a message of the conversation, which is entry seq. request is the query that it belongs to unless it names one. */
export function applyHistoryMessage(agent: AgentDraft, seq: number, message: HistoryMessage, request: string): void {
  const query = message.request_id || request;
  const isAssistant = message.role === "assistant";
  const role = isAssistant ? "assistant" : "user";
  const items: ConversationItem[] = [];
  for (const block of message.content) {
    if (block.type === "tool_result") addToolResult(agent, seq, block, items);
    else items.push(conversationItemOf(seq, block, role, query, message.label ?? ""));
  }
  if (!isAssistant && replaceRepeatedQuery(agent, items)) items.shift();
  agent.conversation.insert(seq, items);
  const isNew = seq === 0 || seq > agent.seq;
  if (isAssistant && isNew) {
    endStreamedReply(agent, message.content);
    agent.context = contextTokens(message.usage) || agent.context;
  }
  if (query !== "" && isNew) agent.request = query;
}

/** Returns the tokens of a prompt, cached or not, and of the reply; 0: unknown. */
function contextTokens(usage: TokenCounts | undefined): number {
  if (usage === undefined) return 0;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage;
  return input_tokens + cache_read_input_tokens + cache_creation_input_tokens + output_tokens;
}

function conversationItemOf(
  seq: number,
  block: ContentBlock,
  role: "user" | "assistant",
  request: string,
  label: string,
): ConversationItem {
  const labelled = label === "" ? {} : { label };
  const { text = "", thinking = "", id = "", name = "", input } = block;
  switch (block.type) {
    case "text":
      return { kind: "text", seq, role, text, ...(request === "" ? {} : { request }), ...labelled };
    case "thinking":
      return { kind: "thinking", seq, text: thinking };
    case "redacted_thinking":
      return { kind: "thinking", seq, text: "[This thought is encrypted.]" };
    case "tool_use":
      return { kind: "tool", seq, id, name, input, ...labelled };
    case "image":
      return { kind: "text", seq, role, text: "[An image.]", ...labelled };
    default:
      return { kind: "event", seq, event: block.type, text: "", metadata: block };
  }
}

/** Adds a result to its tool call. A result without a call becomes a new item. */
function addToolResult(agent: AgentDraft, seq: number, block: ContentBlock, items: ConversationItem[]): void {
  const { tool_use_id: id = "" } = block;
  const result = toolResultOf(block);
  const index = items.findIndex((item) => item.kind === "tool" && item.id === id);
  const call = items[index];
  if (call?.kind === "tool") items[index] = { ...call, result };
  else if (!agent.conversation.setResult(id, result)) {
    items.push({ kind: "tool", seq, id, name: "", input: null, result });
  }
}

function toolResultOf({ is_error: isError = false, content }: ContentBlock): ToolResult {
  if (typeof content === "string") return { isError, content: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) return { isError, content: [] };
  return { isError, content: content.map(resultPartOf) };
}

interface ResultPart {
  type: string;
  text: string;
  source: { type: string; media_type: string; data: string };
}

const resultPartSchema = object<ResultPart>({
  type: string,
  text: string,
  source: object<ResultPart["source"]>({ type: string, media_type: string, data: string }),
});

/** Returns a part of a tool's result. One that is neither text nor an image becomes a text, its JSON. */
function resultPartOf(value: unknown): ToolResult["content"][number] {
  const { type, text, source } = read(resultPartSchema, value);
  if (type === "text") return { type: "text", text };
  if (type !== "image" || source.type !== "base64") return { type: "text", text: jsonOrEmpty(value) };
  return { type: "image", mime: source.media_type, data: source.data };
}

/**
 * Adds a query to the conversation. Most agents repeat the query as the first message of the
 * user; the query is then shown once, whichever of the two comes first.
 */
export function addQueryToConversation(agent: AgentDraft, seq: number, query: MessageOf<"agent_query">): void {
  const { query: text, request_id: request } = query;
  if (request !== "" && (seq === 0 || seq > agent.seq)) agent.request = request;
  const repetition = agent.conversation.newestText((item) => {
    if (item.role !== "user" || !item.text.startsWith(text)) return false;
    return item.request === undefined ? seq > 0 && item.seq > seq : item.request === request;
  });
  if (text === "" || repetition !== null) return;
  const requestField = request === "" ? {} : { request };
  agent.conversation.insert(seq, [{ kind: "text", seq, role: "user", text, query: true, ...requestField }]);
}

/** Replaces a query in the conversation by the first of a user's items if that repeats it; returns false if it does not. */
function replaceRepeatedQuery(agent: AgentDraft, items: readonly ConversationItem[]): boolean {
  const first = items[0];
  if (first?.kind !== "text") return false;
  const query = agent.conversation.newestText((item) => {
    if (item.query !== true || !first.text.startsWith(item.text)) return false;
    return first.request === undefined || item.request === undefined || first.request === item.request;
  });
  if (query !== null) agent.conversation.replace(query.index, first);
  return query !== null;
}
