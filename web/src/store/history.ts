import { type Fields, isObject, jsonOf, numberOrZero, textOf } from "../json/read";
import type { AgentDraft } from "./agentDraft";
import type { Item, ToolResult } from "./state";
import { foldCommitted } from "./stream";

/** Takes in a message of the conversation, in the blocks of the Messages API. */
export function foldHistory(agent: AgentDraft, seq: number, entry: Fields, request: string): void {
  const by = textOf(entry.request_id) || request;
  const assistant = entry.role === "assistant";
  const blocks = blocksOf(entry.content);
  const items: Item[] = [];
  for (const block of blocks) {
    if (block.type === "tool_result") answer(agent, seq, block, items);
    else items.push(itemOf(seq, block, assistant ? "assistant" : "user", by, textOf(entry.label)));
  }
  if (!assistant && repeat(agent, items)) items.shift();
  agent.conversation.insert(seq, items);
  if (assistant && (seq === 0 || seq > agent.seq)) {
    foldCommitted(agent, blocks);
    agent.context = contextOf(entry.usage) || agent.context;
  }
  if (by !== "" && (seq === 0 || seq > agent.seq)) agent.request = by;
}

/** Tokens of a prompt, cached or not, and of the reply; 0: that is not told. */
function contextOf(usage: unknown): number {
  if (!isObject(usage)) return 0;
  const cached = numberOrZero(usage.cache_read_input_tokens) + numberOrZero(usage.cache_creation_input_tokens);
  return numberOrZero(usage.input_tokens) + cached + numberOrZero(usage.output_tokens);
}

function blocksOf(content: unknown): Fields[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function itemOf(seq: number, block: Fields, role: "user" | "assistant", request: string, label: string): Item {
  const more = { ...(label === "" ? {} : { label }) };
  switch (block.type) {
    case "text":
      return { kind: "text", seq, role, text: textOf(block.text), ...(request === "" ? {} : { request }), ...more };
    case "thinking":
      return { kind: "thinking", seq, text: textOf(block.thinking) };
    case "redacted_thinking":
      return { kind: "thinking", seq, text: "[This thought is encrypted.]" };
    case "tool_use":
      return { kind: "tool", seq, id: textOf(block.id), name: textOf(block.name), input: block.input, ...more };
    case "image":
      return { kind: "text", seq, role, text: "[An image.]", ...more };
    default:
      return { kind: "event", seq, event: textOf(block.type), text: "", metadata: block };
  }
}

/** Joins a result to its call. One without a call stands for itself. */
function answer(agent: AgentDraft, seq: number, block: Fields, items: Item[]): void {
  const id = textOf(block.tool_use_id);
  const result = resultOf(block);
  const here = items.findIndex((item) => item.kind === "tool" && item.id === id);
  const call = items[here];
  if (call?.kind === "tool") items[here] = { ...call, result };
  else if (!agent.conversation.answer(id, result)) items.push({ kind: "tool", seq, id, name: "", input: null, result });
}

function resultOf(block: Fields): ToolResult {
  const isError = block.is_error === true;
  const { content } = block;
  if (typeof content === "string") return { isError, content: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) return { isError, content: [] };
  return { isError, content: content.map(partOf) };
}

function partOf(part: unknown): ToolResult["content"][number] {
  if (!isObject(part)) return { type: "text", text: jsonOf(part) };
  if (part.type === "text") return { type: "text", text: textOf(part.text) };
  const source = isObject(part.source) ? part.source : {};
  if (part.type !== "image" || source.type !== "base64") return { type: "text", text: jsonOf(part) };
  return { type: "image", mime: textOf(source.media_type), data: textOf(source.data) };
}

/**
 * Takes in a query. Most agents repeat it as the first message of a person's: then
 * it is shown once. No message may have come yet, or it may have been heard of first.
 */
export function foldQuery(agent: AgentDraft, seq: number, frame: Fields): void {
  const text = textOf(frame.query);
  const request = textOf(frame.request_id);
  if (request !== "" && (seq === 0 || seq > agent.seq)) agent.request = request;
  const there = agent.conversation.newestText((item) => {
    if (item.role !== "user" || !item.text.startsWith(text)) return false;
    return item.request === undefined ? seq > 0 && item.seq > seq : item.request === request;
  });
  if (text === "" || there !== null) return;
  const of = request === "" ? {} : { request };
  agent.conversation.insert(seq, [{ kind: "text", seq, role: "user", text, query: true, ...of }]);
}

/** Whether the first of a person's items repeats a query that is shown; then it takes its place. */
function repeat(agent: AgentDraft, items: readonly Item[]): boolean {
  const first = items[0];
  if (first?.kind !== "text") return false;
  const query = agent.conversation.newestText((item) => {
    if (item.query !== true || !first.text.startsWith(item.text)) return false;
    return first.request === undefined || item.request === undefined || first.request === item.request;
  });
  if (query !== null) agent.conversation.replace(query.place, first);
  return query !== null;
}
