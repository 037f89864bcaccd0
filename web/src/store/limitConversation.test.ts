import { expect, it } from "vitest";
import { limitConversation } from "./limitConversation";
import { jsonByteLength } from "./size";
import type { ConversationItem } from "./state";

const textItem = (seq: number, text: string): ConversationItem => ({ kind: "text", seq, role: "assistant", text });

it("does not change a short conversation", () => {
  const items = [textItem(1, "x".repeat(100_000))];
  expect(limitConversation(items)).toBe(items);
});

it("shortens long texts of items older than the newest 2,000", () => {
  const items = Array.from({ length: 2001 }, (_, i) => textItem(i + 1, "x".repeat(10_000)));
  const [first, second] = limitConversation(items);
  expect(first).toMatchObject({ text: expect.stringMatching(/^x{4096}\n.... 5904 characters left out/) });
  expect(second).toBe(items[1]);
  const again = [...limitConversation(items), textItem(3000, "y")];
  expect(limitConversation(again)[0]).toBe(again[0]);
});

it("shortens the oldest items of any kind if all are too large together", () => {
  const big = "x".repeat(12 << 20);
  const input = { source: big, deep: [[big]] };
  const items: ConversationItem[] = [
    {
      kind: "tool",
      seq: 1,
      id: "a",
      name: "f",
      input,
      result: { isError: false, content: [{ type: "text", text: big }] },
    },
    { kind: "event", seq: 2, event: "e", text: big, metadata: { big } },
    { kind: "thinking", seq: 3, text: "z" },
  ];
  const limited = limitConversation(items);
  expect(jsonByteLength(limited[0])).toBeLessThan(20_000);
  expect(limited[1]).toBe(items[1]);
  expect(limited).toHaveLength(3);
});
