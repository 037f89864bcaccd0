import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer } from "../api/fakeServer";
import RunPage from "./RunPage";

vi.mock("../api/config", () => ({ useConfig: () => ({ console: true }) }));
vi.mock("./run/AttemptChart", () => ({ default: () => null }));

beforeEach(() => {
  window.history.replaceState(null, "", "/runs/r");
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function attemptLineFields(n: number, more: object = {}) {
  return {
    n,
    name: `000${n}-c${n}-e1-t1`,
    type: "attempt",
    case_id: `c${n}`,
    epoch: 1,
    try: 1,
    outcome: "completed",
    passed: n % 2 === 1,
    score: n % 2,
    duration_ms: n * 1000,
    usage: { model_calls: n, actions: n, input_tokens: 10, output_tokens: 5, cost_usd: 0.01 },
    tamper: 0,
    ...more,
  };
}

function serveRun(lines: readonly object[], run: object = { summary: { state: "finished" } }) {
  return fakeServer({
    "/api/runs/r": () => ({ name: "r", config: { agent: "oracle" }, ...run }),
    "/api/runs/r/attempts": (url) => {
      const after = Number(url.searchParams.get("after"));
      return { attempts: lines.slice(after), next: null, last: lines.length };
    },
  });
}

function shownCaseIds(): string[] {
  return within(screen.getByRole("grid"))
    .getAllByRole("rowheader")
    .map((cell) => cell.textContent ?? "");
}

test("a column sorts the attempts ascending, descending and not, and the address has the order", async () => {
  serveRun([attemptLineFields(1), attemptLineFields(3), attemptLineFields(2)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(shownCaseIds()).toEqual(["c2", "c3", "c1"]);
  fireEvent.click(screen.getByRole("button", { name: "Duration" }));
  expect(shownCaseIds()).toEqual(["c1", "c2", "c3"]);
  expect(screen.getByRole("columnheader", { name: /Duration/ }).getAttribute("aria-sort")).toBe("ascending");
  fireEvent.click(screen.getByRole("button", { name: /Duration/ }));
  expect(shownCaseIds()).toEqual(["c3", "c2", "c1"]);
  expect(window.location.search).toBe("?sort=-duration");
  fireEvent.click(screen.getByRole("button", { name: /Duration/ }));
  expect(shownCaseIds()).toEqual(["c2", "c3", "c1"]);
});

test("the page says that the score of an agent without a sandbox is on trust", async () => {
  serveRun([attemptLineFields(1)], { config: { agent: "python3 mine.py", agent_confined: false } });
  render(<RunPage run="r" />);
  expect(await screen.findByText("python3 mine.py (not confined: on trust)")).toBeDefined();
});

test("sorting by case keeps the epochs of a case together in order", async () => {
  window.history.replaceState(null, "", "/runs/r?sort=-case");
  serveRun([
    attemptLineFields(1, { case_id: "a1", epoch: 2 }),
    attemptLineFields(2, { case_id: "a01", epoch: 1 }),
    attemptLineFields(3, { case_id: "a1" }),
  ]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(shownCaseIds()).toEqual(["a01", "a1", "a1"]);
  const epochs = within(screen.getByRole("grid")).getAllByRole("rowheader");
  expect(epochs.map((cell) => cell.nextElementSibling?.textContent)).toEqual(["1", "1", "2"]);
});

test("equal pass rates are shown once, and equal observations have no interval", async () => {
  serveRun([attemptLineFields(1), attemptLineFields(3)]);
  render(<RunPage run="r" />);
  expect((await screen.findByText("2 cases, no interval")).getAttribute("title")).toBe("no spread");
  expect(screen.queryByText("Without infrastructure")).toBeNull();
});

test("only tags below 100 % are shown, and all on request", async () => {
  const lines = Array.from({ length: 10 }, (_, i) => attemptLineFields(2 * i + 2, { tags: [`bad${i}`] }));
  serveRun([...lines, attemptLineFields(99, { tags: ["good"] })]);
  render(<RunPage run="r" />);
  const tags = await screen.findByRole("region", { name: "Pass rate by tag" });
  expect(within(tags).getAllByRole("rowheader")).toHaveLength(8);
  fireEvent.click(within(tags).getByRole("button", { name: "Show all 11 tags" }));
  expect(within(tags).getAllByRole("rowheader")).toHaveLength(11);
});

test("a run in progress shows its progress and the durations of its attempts", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: Date.parse("2026-11-20T14:01:05Z") });
  const state = { type: "attempt", state: "running", started: "2026-11-20T14:00:00Z", changed: "2026-11-20T14:01:00Z" };
  const server = serveRun([attemptLineFields(1)], {
    running: ["0002-c2-e1-t1"],
    summary: { passed: 1, failed: 1, state: "running" },
  });
  server.routes["/api/runs/r/attempts/0002-c2-e1-t1"] = () => state;
  render(<RunPage run="r" />);
  expect(await screen.findByText("2 ended, 1 running")).toBeDefined();
  expect(await screen.findByText(/^1 min 0[5-7] s$/)).toBeDefined();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await screen.findByText(/^1 min 2[5-8] s$/)).toBeDefined();
});

test("the attempts of an interrupted run have run until their last change", async () => {
  const at = { started: "2026-11-20T14:00:00Z", changed: "2026-11-20T14:01:00Z" };
  const server = serveRun([attemptLineFields(1)], {
    running: ["0002-c2-e1-t1"],
    summary: { passed: 1, state: "interrupted", left_out: { lines: 1, first: 1 } },
  });
  server.routes["/api/runs/r/attempts/0002-c2-e1-t1"] = () => ({ type: "attempt", state: "interrupted", ...at });
  vi.useFakeTimers({ shouldAdvanceTime: true });
  render(<RunPage run="r" />);
  expect(await screen.findByText("1 ended, 1 not ended")).toBeDefined();
  expect(await screen.findByText("1 min 00 s")).toBeDefined();
  expect(screen.queryByText("running")).toBeNull();
  expect(screen.getByText("A line of attempts.jsonl cannot be read and is left out: line 2.")).toBeDefined();
  const asked = server.requests.length;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(server.requests).toHaveLength(asked);
});

test("impossible numbers are not shown", async () => {
  const usage = { model_calls: -1, actions: 1e308, input_tokens: 1e308, output_tokens: 1e308, cost_usd: -2 };
  const rate = { strict: 1e308, excluding_infrastructure: -1, ci95: [-1e308, 1e308] };
  serveRun(
    [
      attemptLineFields(1, { duration_ms: 1e308, score: 1e308, epoch: 1e308, tamper: 1e308, usage }),
      attemptLineFields(2, { duration_ms: "9", score: { $float: "NaN" }, usage: { cost_usd: "2" } }),
      { type: "summary", n: 3, pass_rate: rate },
    ],
    { summary: { state: "finished", duration_ms: -1 } },
  );
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  const [, , odd] = within(grid).getAllByRole("row");
  const cells = within(odd as HTMLElement).getAllByRole("cell");
  expect(cells.slice(1).map((cell) => cell.textContent)).toEqual([
    "?", // epoch
    "passed",
    "completed",
    "?",
    "?",
    "? / ?",
    "?",
    "?",
    "?",
  ]);
  expect(screen.getByText("50.0 %")).toBeDefined();
  expect(document.body.textContent).not.toMatch(/e\+|Infinity|NaN|\d{12}/);
});

test("a filter in the address is applied and can be removed", async () => {
  window.history.replaceState(null, "", "/runs/r?verdict=failed");
  serveRun([attemptLineFields(1), attemptLineFields(2), attemptLineFields(3)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(shownCaseIds()).toEqual(["c2"]);
  expect(screen.getByText("1 of 3 shown")).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(shownCaseIds()).toHaveLength(3);
});

test("only the visible rows are drawn of 10,000 attempts", async () => {
  serveRun(Array.from({ length: 10_000 }, (_, i) => attemptLineFields(i + 1)));
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  expect(grid.getAttribute("aria-rowcount")).toBe("10001");
  expect(shownCaseIds().length).toBeGreaterThan(5);
  expect(shownCaseIds().length).toBeLessThan(80);
});

test("keys move between rows, Enter opens one, space selects it", async () => {
  serveRun([attemptLineFields(1), attemptLineFields(2), attemptLineFields(3)]);
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  const [, first] = within(grid).getAllByRole("row");
  if (first === undefined) throw new Error("no row");
  fireEvent.focus(first);
  fireEvent.keyDown(first, { key: "ArrowDown" });
  const second = within(grid).getAllByRole("row")[2];
  await waitFor(() => expect(document.activeElement).toBe(second));
  fireEvent.keyDown(second as HTMLElement, { key: " " });
  expect(second?.getAttribute("aria-selected")).toBe("true");
  fireEvent.keyDown(second as HTMLElement, { key: "Enter" });
  expect(window.location.pathname).toBe("/runs/r/0002-c2-e1-t1");
});

test("keys apply to the focused row, even after rows were added above it", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const lines = [attemptLineFields(1), attemptLineFields(2)];
  const server = serveRun(lines, { summary: { state: "running" } });
  server.routes["/api/runs/r/attempts"] = (url) => {
    return { attempts: lines.slice(Number(url.searchParams.get("after"))), next: null, last: lines.length };
  };
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  const row = within(grid).getAllByRole("row")[1];
  if (row === undefined) throw new Error("no row");
  expect(row.textContent).toContain("c2");
  row.focus();
  lines.push(attemptLineFields(3));
  await vi.advanceTimersByTimeAsync(5000);
  await waitFor(() => expect(shownCaseIds()).toEqual(["c3", "c2", "c1"]));
  expect(document.activeElement).toBe(row);
  fireEvent.keyDown(row, { key: "Enter" });
  expect(window.location.pathname).toBe("/runs/r/0002-c2-e1-t1");
});

test("two selected attempts can be compared", async () => {
  serveRun([attemptLineFields(1), attemptLineFields(2), attemptLineFields(3)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  for (const name of ["Compare c1", "Compare c2", "Compare c3"])
    fireEvent.click(screen.getByRole("checkbox", { name }));
  const link = screen.getByRole("link", { name: /Compare the two/ });
  const parameters = new URL(link.getAttribute("href") ?? "", "http://x").searchParams;
  expect([parameters.get("a"), parameters.get("b")]).toEqual(["r/0002-c2-e1-t1", "r/0003-c3-e1-t1"]);
});

test("a run in progress shows running attempts first and loads only new lines", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const lines = [attemptLineFields(1)];
  let running = ["0002-c2-e1-t1"];
  const server = fakeServer({
    "/api/runs/r": () => ({
      name: "r",
      config: {},
      running,
      summary: { state: running.length === 0 ? "finished" : "running" },
    }),
    "/api/runs/r/attempts": (url) => ({
      attempts: lines.slice(Number(url.searchParams.get("after"))),
      next: null,
      last: lines.length,
    }),
    "/api/runs/r/attempts/0002": () => ({ state: "running" }),
  });
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(shownCaseIds()).toEqual(["c2", "c1"]);
  lines.push(attemptLineFields(2));
  running = [];
  await vi.advanceTimersByTimeAsync(2500);
  await waitFor(() => expect(screen.queryAllByText("running")).toEqual([]));
  expect(shownCaseIds()).toEqual(["c2", "c1"]);
  const asked = server.requests
    .filter((url) => url.pathname.endsWith("/attempts"))
    .map((url) => url.searchParams.get("after"));
  expect(asked).toEqual(["0", "1"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(server.requests.filter((url) => url.pathname.endsWith("/attempts"))).toHaveLength(2);
});

test("hostile lines and names are shown as text", async () => {
  const evil = "<img src=x onerror=alert(1)>\u202e";
  serveRun(
    [
      attemptLineFields(1, { case_id: evil, outcome: evil, tags: [evil, 4], usage: "x", epoch: {} }),
      { type: "skipped", case_id: [], reason: evil },
      { type: 7 },
    ],
    {
      config: { agent: { a: 1 }, paths: [evil, 3], limits: "none" },
      host: null,
      running: [evil, 9],
      summary: { state: { a: 1 }, left_out: [1] },
    },
  );
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(shownCaseIds()).toHaveLength(3);
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).not.toContain("\u202e");
});

test("a run name with a percent sign is encoded in requests", async () => {
  window.history.replaceState(null, "", `/runs/${encodeURIComponent("50%25 #a")}`);
  const server = fakeServer({});
  render(<RunPage run="whatever the router has made of it" />);
  expect((await screen.findByRole("alert")).textContent).toContain("not found");
  expect(server.requests[0]?.pathname).toBe(`/api/runs/${encodeURIComponent("50%25 #a")}`);
});

const lostAttempt = attemptLineFields(5, { outcome: "agent_error", passed: null, score: null });

test.each([
  [[attemptLineFields(1)], "100.0 %", "No attempt was lost to a failure of the infrastructure or of a grader."],
  [
    [attemptLineFields(2), lostAttempt],
    "0.0 %",
    "The same with and without attempts lost to a failure of the infrastructure or of a grader.",
  ],
  [
    [lostAttempt, { type: "summary", n: 2, pass_rate: { strict: 0, excluding_infrastructure: null, ci95: null } }],
    "–nothing was graded",
    "No attempt has a verdict: the outcomes say why.",
  ],
  [[], "–nothing was graded", "No attempt has a verdict."],
])("one pass rate, or none, says why there are not two: %#", async (lines, rate, why) => {
  serveRun(lines);
  render(<RunPage run="r" />);
  const sentence = await screen.findByText(why);
  expect(sentence.closest("dd")?.textContent).toContain(rate);
  expect(screen.queryByText("Without infrastructure")).toBeNull();
});

test("an attempt's outcome has its reason on one line, and all of it on hover", async () => {
  const detail = "exit status 1\nTraceback: no key";
  const grading = { error_kind: "model", text: "no answer" };
  serveRun([
    attemptLineFields(1, { outcome: "agent_error", outcome_detail: detail, passed: null }),
    attemptLineFields(2, { grading }),
    attemptLineFields(3),
  ]);
  render(<RunPage run="r" />);
  const cell = await screen.findByText("agent error: exit status 1 Traceback: no key");
  expect(cell.getAttribute("title")).toBe(detail);
  expect(screen.getByText("completed: grading failed (model): no answer")).toBeDefined();
  const passed = screen.getByText("c3").closest("tr");
  expect(within(passed as HTMLElement).getByText("completed")).toBeDefined();
});
