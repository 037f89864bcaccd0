import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { read } from "../json/schema";
import { entryFromJSON } from "../protocol/fakeMessages";
import { sessionDetailSchema } from "../protocol/session.gen";
import { createStore, StoreProvider } from "../store/store";
import { currentAttemptOf } from "./attempt";
import { CaseView } from "./CaseView";

const attemptStartTime = Date.parse("2026-11-20T14:00:00Z");

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(attemptStartTime + 30_000);
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function renderCase(attempt: Record<string, unknown>) {
  const store = createStore();
  const found = currentAttemptOf(
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

test("the remaining wall time counts down to zero", () => {
  renderCase({ limits: { wall_s: 92 } });
  expect(screen.getByRole("timer").textContent).toBe("1:02 left");
  act(() => vi.advanceTimersByTime(3000));
  expect(screen.getByRole("timer").textContent).toBe("0:59 left");
  act(() => vi.advanceTimersByTime(90_000));
  expect(screen.getByRole("timer").textContent).toBe("0:00 left");
});

test("shows at most the limit if this machine's clock is behind", () => {
  vi.setSystemTime(attemptStartTime - 60_000);
  renderCase({ limits: { wall_s: 92 } });
  expect(screen.getByRole("timer").textContent).toBe("1:32 left");
});

test("without a limit the time counts up; before the start there is no timer", () => {
  renderCase({ limits: {} });
  expect(screen.getByText("0:30")).toBeTruthy();
  cleanup();
  renderCase({ limits: { wall_s: 92 }, started: undefined });
  expect(screen.getByText("not started")).toBeTruthy();
  expect(vi.getTimerCount()).toBe(0);
});

test("each limit shows how much of it is used", () => {
  const store = renderCase({
    limits: { wall_s: 60, turns: 10, tokens: 2000, cost_usd: 1, actions: 0, disk_bytes: 1024 },
  });
  const entry = { type: "anthropic_message", role: "assistant", content: "a" };
  act(() =>
    store.apply([
      entryFromJSON(1, "agent>server", { type: "agent_history_updated", entry }),
      entryFromJSON(2, "agent>server", { type: "agent_history_updated", entry }),
      entryFromJSON(3, "agent>server", {
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

test.each([
  7,
  null,
  "renders or ignores an attempt made of %j",
  [],
  { case_id: 7, task: null, limits: "renders or ignores an attempt made of %j", started: {} },
])("an attempt made of %j is drawn or none", (wrong) => {
  const attempt = currentAttemptOf(read(sessionDetailSchema, { attempt: wrong }));
  if (attempt === null) return expect(wrong === null || typeof wrong !== "object" || Array.isArray(wrong)).toBe(true);
  renderCase(wrong as Record<string, unknown>);
  expect(screen.getByRole("region", { name: "Case" })).toBeTruthy();
});
