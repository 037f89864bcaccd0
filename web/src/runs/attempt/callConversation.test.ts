import { expect, test } from "vitest";
import { conversationOf, hasReply, linesUntil, readConversation, withErrors } from "./callConversation";

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
  expect(readConversation("")).toEqual({ entries: [], items: [], callOfSeq: new Map() });
});

test("up to a time a stored conversation has the lines that had come, and no later results", () => {
  const at = (timestamp: string, role: string, content: unknown) =>
    `${JSON.stringify({ type: "anthropic_message", role, content, timestamp })}\n`;
  const stored = readConversation(
    at("2026-01-01T00:00:01Z", "assistant", [{ type: "tool_use", id: "a", name: "run", input: {} }]) +
      at("2026-01-01T00:00:02.5Z", "user", [{ type: "tool_result", tool_use_id: "a", content: "3" }]) +
      at("soon", "assistant", "unknown when"),
  );
  const until = (time: string) => conversationOf(linesUntil(stored, Date.parse(time)));
  expect(until("2026-01-01T00:00:00.999Z")).toEqual([]);
  expect(until("2026-01-01T00:00:02Z")).toMatchObject([{ kind: "tool", name: "run" }]);
  expect(until("2026-01-01T00:00:02Z")[0]).not.toHaveProperty("result");
  expect(until("2026-01-01T00:00:02.5Z")[0]).toHaveProperty("result");
  expect(until("2026-01-02T00:00:00Z")).toHaveLength(1);
  expect(stored.items).toHaveLength(2);
});

test("errors that the agent has sent come after what is stored, and all that it has sent if nothing is", () => {
  const text = { kind: "text", seq: 1, role: "user", text: "Sum it" } as const;
  const error = { kind: "error", seq: 2, text: "no key", fatal: true } as const;
  expect(withErrors([text, text], [text, error])).toEqual([text, text, error]);
  expect(withErrors([], [text, error])).toEqual([text, error]);
});
