import { expect, test } from "vitest";
import type { ConversationItem } from "../../store/state";
import { noCallTotals, type TimedCall, turnsOf, withCalls } from "./modelCalls";

function callAt(seq: number, call: number, more: Partial<TimedCall> = {}): TimedCall {
  const usage = {
    input_tokens: 10 * call,
    output_tokens: call,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 1000,
  };
  return {
    seq,
    call,
    api: "messages",
    model: "m",
    outcome: "ok",
    status: 200,
    usage,
    cost_usd: 0.5,
    totalMs: 1000,
    waitMs: 0,
    ...more,
  };
}

const refused = { outcome: "refused", status: 529, usage: undefined, cost_usd: null } as unknown as Partial<TimedCall>;

const text = (seq: number, role: "user" | "assistant" = "assistant"): ConversationItem => ({
  kind: "text",
  seq,
  role,
  text: "t",
});
const tool = (seq: number, name = "run"): ConversationItem => ({ kind: "tool", seq, id: "a", name, input: {} });

/** Returns the numbers of the calls of each turn, by the index of its item. */
function callNumbers(turns: ReturnType<typeof turnsOf>): Record<number, number[]> {
  return Object.fromEntries([...turns].map(([index, { calls }]) => [index, calls.map(({ call }) => call)]));
}

test("a message has the calls since the one before, below its last item", () => {
  const items = [
    text(1, "user"),
    { kind: "thinking", seq: 5, text: "" } as const,
    text(5),
    tool(5),
    tool(9, ""),
    tool(20),
    text(21),
  ];
  const calls = [callAt(2, 1), callAt(6, 2, refused), callAt(10, 3), callAt(30, 4)];
  const turns = turnsOf(items, calls);
  expect(callNumbers(turns)).toEqual({ 3: [1], 5: [2, 3] });
  expect(turns.get(5)?.soFar).toEqual({ input: 2240, cached: 2000, output: 4, answered: 2, costUsd: 1 });
});

test("a message that is the reply of a call has that, and those before it that have no message", () => {
  const items = [text(1, "user"), text(2), text(3), text(4, "user"), text(5)];
  const calls = [callAt(2, 1), callAt(3, 2), callAt(4, 3, refused), callAt(5, 4), callAt(6, 5, refused)];
  const numbers = new Map([
    [2, 2],
    [3, 1],
    [5, 4],
  ]);
  expect(callNumbers(turnsOf(items, calls, numbers))).toEqual({ 1: [2], 2: [1], 4: [3, 4] });
});

test("a cost is unknown from the first call without a price on, and never 0", () => {
  const [first, second] = [callAt(1, 1), callAt(2, 2, { cost_usd: null })];
  expect(withCalls(noCallTotals, [first]).costUsd).toBe(0.5);
  expect(withCalls(noCallTotals, [first, second]).costUsd).toBeNull();
  expect(withCalls(withCalls(noCallTotals, [second]), [first]).costUsd).toBeNull();
  expect(withCalls(noCallTotals, [callAt(3, 3, refused)])).toEqual(noCallTotals);
});

test("messages without calls, and calls without messages, are no turns", () => {
  expect(turnsOf([text(1), text(0)], []).size).toBe(0);
  expect(turnsOf([], [callAt(1, 1)]).size).toBe(0);
});
