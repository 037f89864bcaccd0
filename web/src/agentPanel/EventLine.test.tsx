import { act, cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventLine } from "./EventLine";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const retryMetadata = { type: "retry", status: 529, attempt: 2, error: "Overloaded", wait_ms: 3000 };

function renderEvent(event: string, text: string, metadata: Record<string, unknown>, pending = false) {
  return render(<EventLine event={event} text={text} metadata={metadata} pending={pending} />);
}

test("a retry counts down", () => {
  const { container } = renderEvent("retry", "", { ...retryMetadata }, true);
  expect(container.textContent).toContain("Overloaded, status 529, attempt 2, retry in 3 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(container.textContent).toContain("retry in 1 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(container.textContent).toContain("retrying now");
});

test("a retry goes on counting when it is rendered again after having been unmounted", () => {
  const metadata = { ...retryMetadata };
  renderEvent("retry", "", metadata, true).unmount();
  vi.advanceTimersByTime(2000);
  expect(renderEvent("retry", "", metadata, true).container.textContent).toContain("retry in 1 s");
});

test("a past retry shows how long its delay was and leaves no timer", () => {
  const { container } = renderEvent("retry", "", { ...retryMetadata });
  expect(container.textContent).toContain("retried after 3.0 s");
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["waiting", "", { for: "a call", waited_ms: 11_000, over: false }, "Waiting for a call: 11.0 s so far"],
  ["waiting", "", { for: "a call", waited_ms: 11_000, over: true }, "Waited for a call: 11.0 s"],
  ["limit", "40 of 40 turns", {}, "Limit reached: 40 of 40 turns"],
  ["compacted", "", {}, "Conversation compacted: the oldest messages were removed"],
  [
    "tick",
    "hm",
    { ticks: { tick: 3, mood: "calm", confidence: 0.8, skipped: true } },
    "Tick 3 · calm · 80 % sure · skipped: hm",
  ],
  ["exit", "The agent exited.", {}, "The agent exited."],
  ["new\nkind", "said", {}, "new kind: said"],
  ["response", "42", { label: "1" }, "Reply: 42"],
  ["ai_exec", "6 * 7", { label: "1-2" }, "1-2 · Runs code: 6 * 7"],
  ["ai_exec_result", "42", { label: "1-2" }, "1-2 · Output: 42"],
])("describes a %s event", (event, text, metadata, expected) => {
  expect(renderEvent(event, text, metadata).container.textContent).toBe(expected);
});
