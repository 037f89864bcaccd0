import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { read } from "../json/schema";
import { sessionDetailSchema } from "../protocol/api.gen";
import { entryOf } from "../protocol/fakeMessages";
import { createStore, StoreProvider } from "../store/store";
import { attemptOf } from "./attempt";
import { CaseView } from "./CaseView";

const begun = Date.parse("2026-11-20T14:00:00Z");

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(begun + 30_000);
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function draw(attempt: Record<string, unknown>) {
  const store = createStore();
  const found = attemptOf(
    read(sessionDetailSchema, {
      attempt: { case_id: "sum", task: "Add.", started: "2026-11-20T14:00:00Z", ...attempt },
    }),
  );
  if (found === null) throw new Error("no attempt");
  render(
    <StoreProvider value={store}>
      <CaseView attempt={found} />
    </StoreProvider>,
  );
  return store;
}

test("the wall clock is counted down to nothing", () => {
  draw({ limits: { wall_s: 92 } });
  expect(screen.getByRole("timer").textContent).toBe("1:02 left");
  act(() => vi.advanceTimersByTime(3000));
  expect(screen.getByRole("timer").textContent).toBe("0:59 left");
  act(() => vi.advanceTimersByTime(90_000));
  expect(screen.getByRole("timer").textContent).toBe("0:00 left");
});

test("a clock of this machine that is behind does not promise more than the limit", () => {
  vi.setSystemTime(begun - 60_000);
  draw({ limits: { wall_s: 92 } });
  expect(screen.getByRole("timer").textContent).toBe("1:32 left");
});

test("without a limit it counts up, and before the task was given not at all", () => {
  draw({ limits: {} });
  expect(screen.getByText("0:30")).toBeTruthy();
  cleanup();
  draw({ limits: { wall_s: 92 }, started: undefined });
  expect(screen.getByText("not begun")).toBeTruthy();
  expect(vi.getTimerCount()).toBe(0);
});

test("each limit stands beside what has been taken of it", () => {
  const store = draw({ limits: { wall_s: 60, turns: 10, tokens: 2000, cost_usd: 1, actions: 0, disk_bytes: 1024 } });
  const entry = { type: "anthropic_message", role: "assistant", content: "a" };
  act(() =>
    store.apply([
      entryOf(1, "agent>server", { type: "agent_history_updated", entry }),
      entryOf(2, "agent>server", { type: "agent_history_updated", entry }),
      entryOf(3, "agent>server", {
        type: "agent_usage_update",
        input_tokens: 900,
        output_tokens: 50,
        cache_read_input_tokens: 50,
        cost_usd: 0.25,
      }),
    ]),
  );
  fireEvent.click(screen.getByRole("button", { name: /Case sum/ }));
  const limits = [...document.querySelectorAll("dl > div")].map((div) => div.textContent);
  expect(limits).toEqual([
    "Time0:30 of 1:00",
    "Turns2 of 10",
    "Tokens1,000 of 2,000",
    "Cost$0.250 of $1.00",
    "Diskat most 1.0 KiB",
  ]);
});

test.each([7, null, "x", [], { case_id: 7, task: null, limits: "x", started: {} }])(
  "an attempt made of %j is drawn or none",
  (wrong) => {
    const attempt = attemptOf(read(sessionDetailSchema, { attempt: wrong }));
    if (attempt === null) return expect(wrong === null || typeof wrong !== "object" || Array.isArray(wrong)).toBe(true);
    draw(wrong as Record<string, unknown>);
    expect(screen.getByRole("region", { name: "Case" })).toBeTruthy();
  },
);
