import { act, cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventLine } from "./EventLine";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const retry = { type: "retry", status: 529, attempt: 2, error: "Overloaded", wait_ms: 3000 };

function draw(event: string, text: string, metadata: Record<string, unknown>, pending = false) {
  return render(<EventLine event={event} text={text} metadata={metadata} pending={pending} />);
}

test("a retry counts down to when it is made", () => {
  const { container } = draw("retry", "", { ...retry }, true);
  expect(container.textContent).toContain("Overloaded, status 529, try 2, again in 3 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(container.textContent).toContain("again in 1 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(container.textContent).toContain("again now");
});

test("a retry goes on counting when it is drawn again, out of sight meanwhile", () => {
  const metadata = { ...retry };
  draw("retry", "", metadata, true).unmount();
  vi.advanceTimersByTime(2000);
  expect(draw("retry", "", metadata, true).container.textContent).toContain("again in 1 s");
});

test("a retry that is past says how long it was waited for, and no timer is left", () => {
  const { container } = draw("retry", "", { ...retry });
  expect(container.textContent).toContain("again after 3.0 s");
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["waiting", "", { for: "a call", waited_ms: 11_000, over: false }, "Waiting for a call: 11.0 s so far"],
  ["waiting", "", { for: "a call", waited_ms: 11_000, over: true }, "Waited for a call: 11.0 s"],
  ["limit", "40 of 40 turns", {}, "Limit reached: 40 of 40 turns"],
  ["compacted", "", {}, "Conversation shortened: its oldest part was left out"],
  [
    "tick",
    "hm",
    { ticks: { tick: 3, mood: "calm", confidence: 0.8, skipped: true } },
    "Tick 3 · calm · 80 % sure · skipped: hm",
  ],
  ["exit", "The agent has ended.", {}, "The agent has ended."],
  ["new\nkind", "said", {}, "new kind: said"],
])("%s says what happened", (event, text, metadata, expected) => {
  expect(draw(event, text, metadata).container.textContent).toBe(expected);
});
