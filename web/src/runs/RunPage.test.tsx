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

function line(n: number, more: object = {}) {
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

function serve(lines: readonly object[], run: object = { summary: { state: "finished" } }) {
  return fakeServer({
    "/api/runs/r": () => ({ name: "r", config: { agent: "oracle" }, ...run }),
    "/api/runs/r/attempts": (url) => {
      const after = Number(url.searchParams.get("after"));
      return { attempts: lines.slice(after), next: null, last: lines.length };
    },
  });
}

function caseIds(): string[] {
  return within(screen.getByRole("grid"))
    .getAllByRole("rowheader")
    .map((cell) => cell.textContent ?? "");
}

test("attempts are sorted by a column up, down, and not, as the address says", async () => {
  serve([line(1), line(3), line(2)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(caseIds()).toEqual(["c2", "c3", "c1"]);
  fireEvent.click(screen.getByRole("button", { name: "Duration" }));
  expect(caseIds()).toEqual(["c1", "c2", "c3"]);
  expect(screen.getByRole("columnheader", { name: /Duration/ }).getAttribute("aria-sort")).toBe("ascending");
  fireEvent.click(screen.getByRole("button", { name: /Duration/ }));
  expect(caseIds()).toEqual(["c3", "c2", "c1"]);
  expect(window.location.search).toBe("?sort=-duration");
  fireEvent.click(screen.getByRole("button", { name: /Duration/ }));
  expect(caseIds()).toEqual(["c2", "c3", "c1"]);
});

test("sorted by case, its epochs stand together in their order", async () => {
  window.history.replaceState(null, "", "/runs/r?sort=-case");
  serve([line(1, { case_id: "a1", epoch: 2 }), line(2, { case_id: "a01", epoch: 1 }), line(3, { case_id: "a1" })]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(caseIds()).toEqual(["a01", "a1", "a1"]);
  const epochs = within(screen.getByRole("grid")).getAllByRole("rowheader");
  expect(epochs.map((cell) => cell.nextElementSibling?.textContent)).toEqual(["1", "1", "2"]);
});

test("equal rates are one, and equal observations claim no interval", async () => {
  serve([line(1), line(3)]);
  render(<RunPage run="r" />);
  expect((await screen.findByText("2 cases, no interval")).getAttribute("title")).toBe("no spread");
  expect(screen.queryByText("Without infrastructure")).toBeNull();
});

test("of the tags those are shown that did not pass throughout, and all when asked for", async () => {
  const lines = Array.from({ length: 10 }, (_, i) => line(2 * i + 2, { tags: [`bad${i}`] }));
  serve([...lines, line(99, { tags: ["good"] })]);
  render(<RunPage run="r" />);
  const tags = await screen.findByRole("region", { name: "Pass rate by tag" });
  expect(within(tags).getAllByRole("rowheader")).toHaveLength(8);
  fireEvent.click(within(tags).getByRole("button", { name: "Show all 11 tags" }));
  expect(within(tags).getAllByRole("rowheader")).toHaveLength(11);
});

test("a run that goes on says how far it is, and for how long its attempts run", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: Date.parse("2026-11-20T14:01:05Z") });
  const state = { type: "attempt", state: "running", started: "2026-11-20T14:00:00Z", changed: "2026-11-20T14:01:00Z" };
  const server = serve([line(1)], {
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

test("a run that was interrupted is not taken to run: its attempts ran until their last sign of life", async () => {
  const at = { started: "2026-11-20T14:00:00Z", changed: "2026-11-20T14:01:00Z" };
  const server = serve([line(1)], {
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

test("of numbers that cannot be, none is shown", async () => {
  const usage = { model_calls: -1, actions: 1e308, input_tokens: 1e308, output_tokens: 1e308, cost_usd: -2 };
  const rate = { strict: 1e308, excluding_infrastructure: -1, ci95: [-1e308, 1e308] };
  serve(
    [
      line(1, { duration_ms: 1e308, score: 1e308, epoch: 1e308, tamper: 1e308, usage }),
      line(2, { duration_ms: "9", score: { $float: "NaN" }, usage: { cost_usd: "2" } }),
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

test("a filter in the address holds, and can be taken back", async () => {
  window.history.replaceState(null, "", "/runs/r?verdict=failed");
  serve([line(1), line(2), line(3)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  expect(caseIds()).toEqual(["c2"]);
  expect(screen.getByText("1 of 3 shown")).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(caseIds()).toHaveLength(3);
});

test("of 10,000 attempts a window is drawn", async () => {
  serve(Array.from({ length: 10_000 }, (_, i) => line(i + 1)));
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  expect(grid.getAttribute("aria-rowcount")).toBe("10001");
  expect(caseIds().length).toBeGreaterThan(5);
  expect(caseIds().length).toBeLessThan(80);
});

test("rows are gone through by keys, opened by Enter and chosen by space", async () => {
  serve([line(1), line(2), line(3)]);
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

test("keys mean the row that has the focus, also when others have come above it", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const lines = [line(1), line(2)];
  const server = serve(lines, { summary: { state: "running" } });
  server.routes["/api/runs/r/attempts"] = (url) => {
    return { attempts: lines.slice(Number(url.searchParams.get("after"))), next: null, last: lines.length };
  };
  render(<RunPage run="r" />);
  const grid = await screen.findByRole("grid");
  const row = within(grid).getAllByRole("row")[1];
  if (row === undefined) throw new Error("no row");
  expect(row.textContent).toContain("c2");
  row.focus();
  lines.push(line(3));
  await vi.advanceTimersByTimeAsync(5000);
  await waitFor(() => expect(caseIds()).toEqual(["c3", "c2", "c1"]));
  expect(document.activeElement).toBe(row);
  fireEvent.keyDown(row, { key: "Enter" });
  expect(window.location.pathname).toBe("/runs/r/0002-c2-e1-t1");
});

test("two chosen attempts can be compared", async () => {
  serve([line(1), line(2), line(3)]);
  render(<RunPage run="r" />);
  await screen.findByRole("grid");
  for (const name of ["Compare c1", "Compare c2", "Compare c3"])
    fireEvent.click(screen.getByRole("checkbox", { name }));
  const link = screen.getByRole("link", { name: /Compare the two/ });
  const parameters = new URL(link.getAttribute("href") ?? "", "http://x").searchParams;
  expect([parameters.get("a"), parameters.get("b")]).toEqual(["r/0002-c2-e1-t1", "r/0003-c3-e1-t1"]);
});

test("a run that goes on shows what runs first, and asks only for what is new", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const lines = [line(1)];
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
  expect(caseIds()).toEqual(["c2", "c1"]);
  lines.push(line(2));
  running = [];
  await vi.advanceTimersByTimeAsync(2500);
  await waitFor(() => expect(screen.queryAllByText("running")).toEqual([]));
  expect(caseIds()).toEqual(["c2", "c1"]);
  const asked = server.requests
    .filter((url) => url.pathname.endsWith("/attempts"))
    .map((url) => url.searchParams.get("after"));
  expect(asked).toEqual(["0", "1"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(server.requests.filter((url) => url.pathname.endsWith("/attempts"))).toHaveLength(2);
});

test("hostile lines and names are text", async () => {
  const evil = "<img src=x onerror=alert(1)>\u202e";
  serve(
    [
      line(1, { case_id: evil, outcome: evil, tags: [evil, 4], usage: "x", epoch: {} }),
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
  expect(caseIds()).toHaveLength(3);
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).not.toContain("\u202e");
});

test("a name with a percent sign is asked for as it is", async () => {
  window.history.replaceState(null, "", `/runs/${encodeURIComponent("50%25 #a")}`);
  const server = fakeServer({});
  render(<RunPage run="whatever the router has made of it" />);
  expect((await screen.findByRole("alert")).textContent).toContain("not found");
  expect(server.requests[0]?.pathname).toBe(`/api/runs/${encodeURIComponent("50%25 #a")}`);
});
