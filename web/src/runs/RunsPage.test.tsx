import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setToken } from "../api/client";
import { fakeServer, problem } from "./fakeServer";
import RunsPage from "./RunsPage";

vi.mock("../app/config", () => ({ useConfig: () => ({ console: true }) }));

beforeEach(() => window.history.replaceState(null, "", "/runs"));
afterEach(() => {
  cleanup();
  setToken(null);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function run(name: string, more: object = {}) {
  const summary = { attempts: 4, passed: 3, failed: 1, ungraded: 0, infrastructure: 0, skipped: 2, finished: true };
  return {
    name,
    started: "2026-11-20T14:12:39Z",
    config: { agent: "oracle", paths: ["cases/a"] },
    host: {},
    summary,
    ...more,
  };
}

test("runs are listed with what came of them; the broken one says why", async () => {
  fakeServer({
    "/api/runs": () => ({
      runs: [run("new"), { name: "bad", problem: "run.json: unexpected end" }, run("old")],
      next: null,
    }),
    "/api/runs/new/attempts": (url) => ({
      attempts: [
        { type: "summary", cost_usd: 1.5, pass_rate: { strict: 0.5 }, n: Number(url.searchParams.get("after")) + 1 },
      ],
      next: null,
    }),
  });
  render(<RunsPage />);
  const link = await screen.findByRole("link", { name: "new" });
  expect(link.getAttribute("href")).toBe("/runs/new");
  expect(await screen.findByText("$1.50")).toBeDefined();
  expect(screen.getByText("50 %")).toBeDefined();
  expect(screen.getByText("75 %")).toBeDefined(); // of the other, whose summary cannot be had
  expect(screen.getByText("It cannot be read: run.json: unexpected end")).toBeDefined();
  expect(screen.queryByRole("link", { name: "bad" })).toBeNull();
});

test("an empty folder says how a run is made", async () => {
  fakeServer({ "/api/runs": () => ({ runs: [], next: null }) });
  render(<RunsPage />);
  expect(await screen.findByText(/assay run testcases/)).toBeDefined();
});

test("the filter looks at name, agent and paths, and stands in the address", async () => {
  fakeServer({
    "/api/runs": () => ({ runs: [run("one"), run("two", { config: { agent: "builtin", model: "m/x" } })], next: null }),
  });
  render(<RunsPage />);
  await screen.findByRole("link", { name: "one" });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "M/X builtin" } });
  await waitFor(() => expect(screen.queryByRole("link", { name: "one" })).toBeNull());
  expect(screen.getByRole("link", { name: "two" })).toBeDefined();
  expect(new URLSearchParams(window.location.search).get("text")).toBe("M/X builtin");
});

test("two runs that are chosen can be compared", async () => {
  fakeServer({ "/api/runs": () => ({ runs: [run("one"), run("a,b"), run("two")], next: null }) });
  render(<RunsPage />);
  for (const name of ["one", "a,b", "two"])
    fireEvent.click(await screen.findByRole("checkbox", { name: `Compare ${name}` }));
  const href = screen.getByRole("link", { name: "Compare the two chosen runs" }).getAttribute("href") ?? "";
  expect(new URLSearchParams(href.split("?")[1]).get("runs")).toBe("a%2Cb,two");
});

test("more are loaded behind the last", async () => {
  const server = fakeServer({
    "/api/runs": (url) =>
      url.searchParams.get("after") === "one"
        ? { runs: [run("zero")], next: null }
        : { runs: [run("one")], next: "one" },
  });
  render(<RunsPage />);
  fireEvent.click(await screen.findByRole("button", { name: "Load more" }));
  expect(await screen.findByRole("link", { name: "zero" })).toBeDefined();
  expect(screen.getByRole("link", { name: "one" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  expect(server.asked.filter((url) => url.pathname === "/api/runs")).toHaveLength(2);
});

test("while a run goes on the list is asked for again, and then no more", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  let finished = false;
  const going = () => run("one", { summary: { passed: finished ? 2 : 1, failed: 0, infrastructure: 0, finished } });
  const server = fakeServer({ "/api/runs": () => ({ runs: [going()], next: null }), "/api/runs/one": () => ({}) });
  const lists = () => server.asked.filter((url) => url.pathname === "/api/runs").length;
  render(<RunsPage />);
  expect(await screen.findByText("not finished")).toBeDefined();
  finished = true;
  await vi.advanceTimersByTimeAsync(3500);
  expect(await screen.findByText("finished")).toBeDefined();
  const before = lists();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(lists()).toBe(before);
});

test("a server that wants a token is asked again with the one that is given", async () => {
  const server = fakeServer({
    "/api/runs": () =>
      server.headers.at(-1)?.get("Authorization") === "Bearer right"
        ? { runs: [run("one")], next: null }
        : problem(401, "unauthorized", "the token is wrong or missing"),
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
