import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setToken } from "../api/client";
import { fakeServer, problemResponse } from "../api/fakeServer";
import RunsPage from "./RunsPage";

vi.mock("../api/config", () => ({ useConfig: () => ({ console: true }) }));

beforeEach(() => window.history.replaceState(null, "", "/runs"));
afterEach(() => {
  cleanup();
  setToken(null);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function runItemFields(name: string, more: object = {}, told: object = {}) {
  const counts = { attempts: 4, passed: 3, failed: 1, ungraded: 0, infrastructure: 0, skipped: 2 };
  const summary = { state: "finished", ...counts, ...told };
  return {
    name,
    started: "2026-11-20T14:12:39Z",
    config: { agent: "oracle", paths: ["cases/a"] },
    host: {},
    summary,
    ...more,
  };
}

test("runs and their results are listed with one request; an unreadable run shows why", async () => {
  const told = { pass_rate: 0.5, cost_usd: 1.5, duration_ms: 65_000 };
  const server = fakeServer({
    "/api/runs": () => ({
      runs: [
        runItemFields("new", {}, told),
        { name: "bad", problem: "run.json: unexpected end" },
        runItemFields("old", {}, { state: "interrupted", left_out: { lines: 2, first: 4 } }),
      ],
      next: null,
    }),
  });
  render(<RunsPage />);
  const link = await screen.findByRole("link", { name: "new" });
  expect(link.getAttribute("href")).toBe("/runs/new");
  const row = (name: string) => within(screen.getByRole("row", { name: new RegExp(name) }));
  for (const text of ["$1.50", "50 %", "1 min 05 s", "finished"]) expect(row("new").getByText(text)).toBeDefined();
  expect(row("old").getByText("interrupted")).toBeDefined();
  expect(row("old").getByText(/^2 lines of attempts.jsonl cannot be read .* line 5/)).toBeDefined();
  expect(screen.getByText("Unreadable: run.json: unexpected end")).toBeDefined();
  expect(screen.queryByRole("link", { name: "bad" })).toBeNull();
  expect(server.requests).toHaveLength(1);
});

test("impossible numbers are shown as such", async () => {
  const odd = { pass_rate: -3, cost_usd: 1e308, duration_ms: 1e308, state: ["running"] };
  fakeServer({ "/api/runs": () => ({ runs: [runItemFields("odd", {}, odd)], next: null }) });
  render(<RunsPage />);
  expect(await screen.findAllByText("?")).toHaveLength(3);
  expect(screen.getByText("interrupted")).toBeDefined();
});

test("an empty list says how to make a run", async () => {
  fakeServer({ "/api/runs": () => ({ runs: [], next: null }) });
  render(<RunsPage />);
  expect(await screen.findByText(/assay run testcases/)).toBeDefined();
});

test("the filter searches name, agent and paths, and is in the address", async () => {
  fakeServer({
    "/api/runs": () => ({
      runs: [runItemFields("one"), runItemFields("two", { config: { agent: "builtin", model: "m/x" } })],
      next: null,
    }),
  });
  render(<RunsPage />);
  await screen.findByRole("link", { name: "one" });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "M/X builtin" } });
  await waitFor(() => expect(screen.queryByRole("link", { name: "one" })).toBeNull());
  expect(screen.getByRole("link", { name: "two" })).toBeDefined();
  expect(new URLSearchParams(window.location.search).get("text")).toBe("M/X builtin");
});

test("two selected runs can be compared", async () => {
  fakeServer({
    "/api/runs": () => ({ runs: [runItemFields("one"), runItemFields("a,b"), runItemFields("two")], next: null }),
  });
  render(<RunsPage />);
  for (const name of ["one", "a,b", "two"])
    fireEvent.click(await screen.findByRole("checkbox", { name: `Compare ${name}` }));
  const href = screen.getByRole("link", { name: "Compare the two selected runs" }).getAttribute("href") ?? "";
  expect(new URLSearchParams(href.split("?")[1]).get("runs")).toBe("a%2Cb,two");
});

test("more runs are loaded after the last one", async () => {
  const server = fakeServer({
    "/api/runs": (url) =>
      url.searchParams.get("after") === "one"
        ? { runs: [runItemFields("zero")], next: null }
        : { runs: [runItemFields("one")], next: "one" },
  });
  render(<RunsPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Load more" }));
  expect(await screen.findByRole("link", { name: "zero" })).toBeDefined();
  expect(screen.getByRole("link", { name: "one" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  expect(server.requests.filter((url) => url.pathname === "/api/runs")).toHaveLength(2);
});

test("the list is reloaded often while a run is in progress and less often otherwise", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  let runs = [runItemFields("one", {}, { state: "running", passed: 1 })];
  const server = fakeServer({ "/api/runs": () => ({ runs, next: null }) });
  render(<RunsPage />);
  expect(await screen.findByText("running")).toBeDefined();
  runs = [runItemFields("one", {}, { state: "finished", passed: 2 })];
  await vi.advanceTimersByTimeAsync(2500);
  expect(await screen.findByText("finished")).toBeDefined();
  const before = server.requests.length;
  await vi.advanceTimersByTimeAsync(9000);
  expect(server.requests).toHaveLength(before);
  runs = [runItemFields("two", {}, { state: "running" }), ...runs];
  await vi.advanceTimersByTimeAsync(2000);
  expect(await screen.findByRole("link", { name: "two" })).toBeDefined();
});

test("requests are repeated with the token that the user enters", async () => {
  const server = fakeServer({
    "/api/runs": () =>
      server.headers.at(-1)?.get("Authorization") === "Bearer right"
        ? { runs: [runItemFields("one")], next: null }
        : problemResponse(401, "unauthorized", "the token is wrong or missing"),
    "/api/runs/one": () => ({}),
  });
  render(<RunsPage />);
  fireEvent.change(await screen.findByLabelText("Token"), { target: { value: "wrong" } });
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  expect((await screen.findByRole("alert")).textContent).toContain("refused");
  fireEvent.change(screen.getByLabelText("Token"), { target: { value: "right" } });
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  expect(await screen.findByRole("link", { name: "one" })).toBeDefined();
});

test.each([[null], [7], [{ runs: "x" }], [{ runs: [null, 3, { name: {}, config: [], summary: "s" }], next: 4 }]])(
  "a strange answer is no fall: %j",
  async (answer) => {
    fakeServer({ "/api/runs": () => answer });
    render(<RunsPage />);
    expect(await screen.findByRole("heading", { name: "Runs" })).toBeDefined();
    await waitFor(() => expect(screen.queryByText("Loading…")).toBeNull());
  },
);

test("a run in which nothing was graded has no pass rate, and says so", async () => {
  const lost = { passed: 0, failed: 0, infrastructure: 4, pass_rate: 0 };
  const begun = { passed: 0, failed: 0, pass_rate: null, state: "running" };
  fakeServer({
    "/api/runs": () => ({ runs: [runItemFields("lost", {}, lost), runItemFields("begun", {}, begun)], next: null }),
  });
  render(<RunsPage />);
  const row = async (name: string) => (await screen.findByRole("row", { name: new RegExp(name) })).textContent;
  expect(await row("lost")).toContain("Pass rate nothing graded");
  expect(await row("begun")).toContain("Pass rate –");
});
