import { expect, test } from "vitest";
import { hasReply, readConversation } from "./callConversation";

const line = (role: string, content: unknown, more: { label?: string; call?: number } = {}) =>
  `${JSON.stringify({ type: "anthropic_message", role, content, timestamp: "2026-01-01T00:00:00Z", ...more })}\n`;

test("a conversation file has texts, calls with their results, and labels", () => {
  const text =
    line("user", [{ type: "text", text: "Sum it" }]) +
    line("assistant", [{ type: "tool_use", id: "a", name: "run", input: {} }], { call: 3 }) +
    line("user", [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "3" }] }]) +
    line("user", [{ type: "text", text: "A title?" }], { label: "2" });
  const { items, callOfSeq } = readConversation(`${text}{"type":"anthropic_`);
  expect(items).toMatchObject([
    { kind: "text", role: "user", text: "Sum it" },
    { kind: "tool", name: "run", result: { content: [{ text: "3" }] } },
    { kind: "text", text: "A title?", label: "2" },
  ]);
  expect(hasReply(items)).toBe(true);
  expect(hasReply(items.slice(0, 1))).toBe(false);
  const submitted = line("assistant", [{ type: "tool_use", id: "s", name: "mcp__assay__submit_response", input: {} }]);
  expect(hasReply(readConversation(submitted).items)).toBe(false);
  expect([...callOfSeq]).toEqual([[2, 3]]);
  expect(readConversation("")).toEqual({ items: [], callOfSeq: new Map() });
});
