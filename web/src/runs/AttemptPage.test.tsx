import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer } from "../api/fakeServer";
import { FakeSocket } from "../api/fakeSocket";
import AttemptPage from "./AttemptPage";

vi.mock("../api/config", () => ({ useConfig: () => ({ console: true }) }));
vi.mock("../notebook/Notebook", () => ({ Notebook: () => <p>the notebook</p> }));
vi.mock("../agentPanel/Conversation", () => ({
  Conversation: ({ items, idle = false, footer }: FakeConversationProps) => (
    <>
      <p>{`${items.length} items`}</p>
      <p>{idle ? "nothing is awaited" : "results are awaited"}</p>
      {items.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the items do not change
        <div key={index}>{footer?.(index)}</div>
      ))}
    </>
  ),
}));

interface FakeConversationProps {
  items: readonly unknown[];
  idle?: boolean;
  footer?: (index: number) => ReactNode;
}

const attemptPath = "/api/runs/r/attempts/a";
const attemptLineFields = {
  n: 1,
  name: "a",
  type: "attempt",
  case_id: "sum",
  epoch: 1,
  try: 1,
  outcome: "limit",
  outcome_detail: "turns",
  passed: false,
  score: 0,
  graders: [{ type: "exact", passed: false, score: 0, reasoning: "expected 45" }],
  answer: null,
  duration_ms: 61_000,
  phases: { start_ms: 1000, work_ms: 50_000, wait_ms: 20_000, collect_ms: 0, grade_ms: 10_000 },
  usage: { model_calls: 3, actions: 7, input_tokens: 900, output_tokens: 100, cost_usd: null },
  limits: { wall_s: 600, turns: 3, tokens: 0 },
  enforced: { read: true, write: false },
  files: ["attempts/a/notebook.ipynb", "attempts/a/<b>.html", "attempts/a/blob.bin", "attempts/a/conversation.jsonl"],
  tamper: 2,
};

// The file of an agent that has sent no message of its conversation.
const conversationText =
  `${JSON.stringify({ type: "anthropic_message", role: "user", content: [{ type: "text", text: "Sum it" }], timestamp: "" })}\n`.repeat(
    2,
  ) +
  `${JSON.stringify({ type: "anthropic_message", role: "assistant", content: [{ type: "text", text: "45" }], timestamp: "", call: 1 })}\n`;

const tokenCounts = {
  input_tokens: 388,
  output_tokens: 40,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 512,
};
const flowAnswer = {
  entries: [],
  requests: {
    "3": {
      kind: "model",
      state: "answered",
      total_ms: 2100,
      hops: [{ hop: "model", ms: 2100 }],
      model_call: { call: 1, model: "claude-x", outcome: "ok", status: 200, usage: tokenCounts, cost_usd: null },
    },
    "5": { kind: "model", state: "failed", total_ms: 5, model_call: { call: 2, outcome: "refused", cost_usd: null } },
  },
  next: null,
  model_calls: 2,
};
const statisticsAnswer = {
  frames: 9,
  actions: [],
  notes: {},
  models: { calls: 2, usage: tokenCounts, cost_usd: null, wait_ms: 0, retry_wait_ms: 0 },
  time: { model_ms: 2100, kernel_ms: 300, both_ms: 0, neither_ms: 50 },
};

function serveAttempt(answer: unknown = attemptLineFields) {
  return fakeServer({
    [attemptPath]: () => answer,
    [`${attemptPath}/trace`]: () => ({
      entries: [{ seq: 1, hop: "server>agent", msg: { type: "agent_query", query: "Sum it" } }],
      next: null,
    }),
    [`${attemptPath}/at`]: () => ({ type: "notebook_state", seq: 1, end: 1, complete: true, cells: [], runs: {} }),
    [`${attemptPath}/flow`]: () => flowAnswer,
    [`${attemptPath}/stats`]: () => statisticsAnswer,
    [`${attemptPath}/conversation`]: () => new Response(conversationText, { headers: { "Content-Length": "300" } }),
    [`${attemptPath}/files/`]: (url) =>
      new Response(url.pathname.endsWith(".html") ? "<script>alert(1)</script>" : '{"cells": []}', {
        headers: { "Content-Length": "25" },
      }),
  });
}

beforeEach(() => window.history.replaceState(null, "", "/runs/r/a"));
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("the overview loads only the line, its neighbours, the beginning of the trace and its statistics", async () => {
  const server = serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("Sum it")).toBeDefined();
  expect(screen.getByText(/expected 45/)).toBeDefined();
  expect(screen.getByText("work 30.0 s")).toBeDefined();
  expect(screen.getByText("wait for the model 20.0 s")).toBeDefined();
  expect(screen.getByRole("row", { name: /Turns 3 3/ })).toBeDefined();
  expect(screen.getByRole("row", { name: /Tokens 1,000 no limit/ })).toBeDefined();
  expect(screen.getByText("Enforced: read.")).toBeDefined();
  expect(await screen.findByText("models 2.1 s")).toBeDefined();
  expect(screen.getByText("kernel 300 ms")).toBeDefined();
  expect(screen.getAllByText("unknown").length).toBe(2); // the cost, in the heading and in the usage
  const paths = new Set(server.requests.map((url) => url.pathname));
  expect([...paths].sort()).toEqual([
    "/api/runs/r/attempts",
    attemptPath,
    `${attemptPath}/stats`,
    `${attemptPath}/trace`,
  ]);
  expect(server.requests.find((url) => url.pathname === "/api/runs/r/attempts")?.searchParams.get("brief")).toBe(
    "true",
  );
  expect(server.requests.find((url) => url.pathname === `${attemptPath}/trace`)?.searchParams.get("limit")).toBe("2");
});

test("the notebook can be downloaded under the attempt's name once it exists", async () => {
  const server = serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  const link = await screen.findByRole("link", { name: "Download a.ipynb" });
  expect(link.getAttribute("href")).toBe(`${attemptPath}/files/notebook.ipynb`);
  expect(link.getAttribute("download")).toBe("a.ipynb");
  cleanup();
  server.routes[attemptPath] = () => ({ ...attemptLineFields, files: [] });
  render(<AttemptPage run="r" attempt="a" />);
  await screen.findByText("Sum it");
  expect(screen.queryByRole("link", { name: /Download/ })).toBeNull();
});

test("the notebook is loaded when its tab is opened, and the address names the tab", async () => {
  const server = serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  fireEvent.click(await screen.findByRole("tab", { name: "Notebook" }));
  expect(await screen.findByText("the notebook")).toBeDefined();
  expect(window.location.search).toBe("?tab=notebook");
  await waitFor(() => expect(server.requests.some((url) => url.pathname === `${attemptPath}/at`)).toBe(true));
  const slider = await screen.findByRole("slider", { name: "Entry of the trace" });
  await waitFor(() => expect(slider.getAttribute("max")).toBe("1"));
});

test("the address has the entry number and follows the slider", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=notebook&seq=5");
  const server = fakeServer({
    [attemptPath]: () => attemptLineFields,
    [`${attemptPath}/trace`]: () => ({ entries: [], next: null }),
    [`${attemptPath}/at`]: (url) => {
      const seq = Math.min(9, Number(url.searchParams.get("seq") ?? 9));
      return { type: "notebook_state", seq, end: 9, complete: true, cells: [], runs: {} };
    },
  });
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("entry 5 of 9")).toBeDefined();
  expect(server.requests.find((url) => url.pathname === `${attemptPath}/at`)?.searchParams.get("seq")).toBe("5");
  fireEvent.change(screen.getByRole("slider"), { target: { value: "7" } });
  await waitFor(() => expect(window.location.search).toBe("?tab=notebook&seq=7"));
  fireEvent.keyDown(screen.getByRole("slider"), { key: "End" });
  await waitFor(() => expect(window.location.search).toBe("?tab=notebook"));
});

test.each(["x", "-3", "1.5", "1e99", ""])("an invalid entry number in the address shows the end: %s", async (seq) => {
  window.history.replaceState(null, "", `/runs/r/a?tab=notebook&seq=${seq}`);
  const server = serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("entry 1 of 1")).toBeDefined();
  expect(server.requests.find((url) => url.pathname === `${attemptPath}/at`)?.searchParams.has("seq")).toBe(false);
});

test("the notebook's file opens the notebook tab at the end of the trace", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=files&seq=1");
  serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  fireEvent.click(await screen.findByRole("button", { name: "notebook.ipynb" }));
  expect(await screen.findByText("the notebook")).toBeDefined();
  expect(window.location.search).toBe("?tab=notebook");
});

test("links lead to the previous and next attempts, past skipped cases", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=stderr");
  const near = (n: number, name: string) => ({ ...attemptLineFields, n, name, case_id: name });
  fakeServer({
    [attemptPath]: () => ({ ...attemptLineFields, n: 5 }),
    "/api/runs/r/attempts": () => ({
      attempts: [
        near(2, "x"),
        near(3, "y"),
        { n: 4, type: "skipped", case_id: "s" },
        near(5, "a"),
        { type: "summary", n: 6 },
      ],
      next: null,
    }),
  });
  render(<AttemptPage run="r" attempt="a" />);
  const before = await screen.findByRole("link", { name: "Previous attempt: y, failed" });
  expect(before.getAttribute("href")).toBe("/runs/r/y?tab=stderr");
  expect(screen.queryByRole("link", { name: /^Next attempt/ })).toBeNull();
});

test("files are shown as text, never as HTML, and their names are encoded in requests", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=files");
  const server = serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  fireEvent.click(await screen.findByRole("button", { name: "<b>.html" }));
  expect(await screen.findByText("<script>alert(1)</script>")).toBeDefined();
  expect(document.querySelector("script, iframe, object, embed")).toBeNull();
  expect(server.requests.some((url) => url.pathname === `${attemptPath}/files/%3Cb%3E.html`)).toBe(true);
  expect(screen.queryByRole("button", { name: "blob.bin" })).toBeNull();
  const download = screen.getByRole("link", { name: "Download blob.bin" });
  expect(download.getAttribute("href")).toBe(`${attemptPath}/files/blob.bin`);
});

test.each([
  [{}],
  [null],
  [{ type: "attempt", phases: 7, usage: [], limits: { turns: "x" }, enforced: [1], graders: {}, files: [1, null] }],
  [{ type: "attempt", state: "running", name: 3, started: 4, changed: {} }],
  [
    {
      type: "attempt",
      phases: { start_ms: -5, work_ms: "1", wait_ms: 9 },
      answer: { a: [] },
      outcome: {},
      case_id: ["x"],
    },
  ],
])("a hostile line is no fall: %j", async (answer) => {
  serveAttempt(answer);
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByRole("tab", { name: "Overview" })).toBeDefined();
  expect(await screen.findByRole("heading", { level: 1 })).toBeDefined();
});

test("a missing attempt shows an error", async () => {
  fakeServer({});
  render(<AttemptPage run="r" attempt="a" />);
  expect((await screen.findByRole("alert")).textContent).toContain("not found");
});

test("the conversation of an agent that has sent none is that of its calls of models", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=conversation");
  serveAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("3 items")).toBeDefined();
  expect(await screen.findByText("tokens 900 in (512 cached), 40 out · cost unknown · 2.1 s")).toBeDefined();
  expect(screen.getByText("so far 940 tokens, cost unknown")).toBeDefined();
  const totals = await screen.findByLabelText("All calls of models");
  expect(totals.textContent).toBe(
    "Calls of models2, 1 refusedTokens900 in (512 cached), 40 outCostunknownModel time2.1 sKernel time300 ms",
  );
});

/** Serves an attempt that runs, and returns a function after which it has ended. */
function serveRunningAttempt(): { server: ReturnType<typeof serveAttempt>; end: () => void } {
  const server = serveAttempt({ type: "attempt", name: "a", state: "running", files: ["attempts/a/stderr.txt"] });
  const at = { type: "notebook_state", seq: 1, end: 1, cells: [], runs: {} };
  server.routes[`${attemptPath}/at`] = () => ({ ...at, complete: false });
  FakeSocket.install();
  const end = () => {
    server.routes[attemptPath] = () => attemptLineFields;
    FakeSocket.newest().end(1000);
  };
  return { server, end };
}

test("the conversation of an attempt that ends is loaded, and what it has cost", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=conversation");
  const { server, end } = serveRunningAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("1 items")).toBeDefined();
  await waitFor(() => expect(FakeSocket.sockets).toHaveLength(1));
  expect(server.requests.some((url) => url.pathname === `${attemptPath}/conversation`)).toBe(false);
  end();
  expect(await screen.findByText("3 items")).toBeDefined();
  expect(await screen.findByText("so far 940 tokens, cost unknown")).toBeDefined();
});

test("the costs of a conversation that the agent itself has sent are loaded again at the end", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=conversation");
  const { server, end } = serveRunningAttempt();
  const entry = { type: "anthropic_message", role: "assistant", content: "45" };
  const replyEntry = { seq: 1, hop: "agent>server", msg: { type: "agent_history_updated", entry } };
  server.routes[`${attemptPath}/trace`] = () => ({ entries: [replyEntry], next: null });
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden"); // nothing is asked for every 3 s
  const timeBefore = { ...statisticsAnswer.time, model_ms: 900 };
  server.routes[`${attemptPath}/stats`] = () => ({ ...statisticsAnswer, time: timeBefore });
  render(<AttemptPage run="r" attempt="a" />);
  await waitFor(() => expect(FakeSocket.sockets).toHaveLength(1));
  const totals = await screen.findByLabelText("All calls of models");
  expect(totals.textContent).toContain("Model time900 ms");
  server.routes[`${attemptPath}/stats`] = () => statisticsAnswer;
  end();
  expect(await screen.findByText("1 items")).toBeDefined();
  await waitFor(() => expect(totals.textContent).toContain("Model time2.1 s"));
  expect(server.requests.some((url) => url.pathname === `${attemptPath}/conversation`)).toBe(false);
});

test.each([
  ["overview", `${attemptPath}/trace`],
  ["files", `${attemptPath}/files/stderr.txt`],
  ["stderr", `${attemptPath}/stderr`],
])("what the tab %s shows is loaded again when the attempt has ended", async (tab, path) => {
  window.history.replaceState(null, "", `/runs/r/a?tab=${tab}`);
  const { server } = serveRunningAttempt();
  server.routes[`${attemptPath}/stderr`] = () => new Response("x\n", { headers: { "Content-Length": "2" } });
  const loads = () => server.requests.filter((url) => url.pathname === path).length;
  render(<AttemptPage run="r" attempt="a" />);
  await waitFor(() => expect(loads()).toBeGreaterThan(0));
  const loadsBefore = loads();
  server.routes[attemptPath] = () => ({ ...attemptLineFields, files: ["attempts/a/stderr.txt"] });
  document.dispatchEvent(new Event("visibilitychange")); // the page asks at once whether it still runs
  await waitFor(() => expect(loads()).toBeGreaterThan(loadsBefore));
});

test("the conversation beside the notebook is the stored one, up to the entry on the slider", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=notebook");
  const server = serveAttempt();
  const message = (second: number, role: string) =>
    `${JSON.stringify({ type: "anthropic_message", role, content: "x", timestamp: `2026-01-01T00:00:0${second}.5Z` })}\n`;
  const text = message(1, "user") + message(1, "user") + message(2, "assistant") + message(3, "assistant");
  server.routes[`${attemptPath}/conversation`] = () => new Response(text, { headers: { "Content-Length": "400" } });
  server.routes[`${attemptPath}/at`] = (url) => {
    const seq = Number(url.searchParams.get("seq") ?? 9);
    const wall = `2026-01-01T00:00:0${seq}Z`;
    return { type: "notebook_state", seq, wall, end: 9, complete: true, cells: [], runs: {} };
  };
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("4 items")).toBeDefined();
  const slider = screen.getByRole("slider");
  fireEvent.change(slider, { target: { value: "3" } });
  expect(await screen.findByText("3 items")).toBeDefined();
  fireEvent.change(slider, { target: { value: "2" } });
  expect(await screen.findByText("2 items")).toBeDefined();
  fireEvent.change(slider, { target: { value: "1" } }); // before the first call there is only the task
  expect(await screen.findByText("1 items")).toBeDefined();
  fireEvent.keyDown(slider, { key: "End" });
  expect(await screen.findByText("4 items")).toBeDefined();
});

test.each([
  [{ outcome: "setup_error", files: [] }, "None: the attempt ended before the agent got its task."],
  [{ state: "interrupted", files: [] }, "None: the run was interrupted."],
  [{ outcome: "completed", files: [] }, "None: the agent has sent no message and called no model."],
])("an attempt without a conversation says why, and is no error: %j", async (more, why) => {
  window.history.replaceState(null, "", "/runs/r/a?tab=conversation");
  const server = serveAttempt({ ...attemptLineFields, ...more });
  server.routes[`${attemptPath}/trace`] = () => ({ entries: [], next: null });
  delete server.routes[`${attemptPath}/conversation`];
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText(why)).toBeDefined();
  expect(screen.queryByRole("alert")).toBeNull();
});

test.each(["conversation", "notebook"])("in the tab %s an attempt that has ended awaits no result", async (tab) => {
  window.history.replaceState(null, "", `/runs/r/a?tab=${tab}`);
  const { end } = serveRunningAttempt();
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("results are awaited")).toBeDefined();
  await waitFor(() => expect(FakeSocket.sockets).toHaveLength(1));
  end();
  expect(await screen.findByText("nothing is awaited")).toBeDefined();
});

test("before the end of a trace results are awaited", async () => {
  window.history.replaceState(null, "", "/runs/r/a?tab=notebook&seq=1");
  const server = serveAttempt();
  const at = { type: "notebook_state", seq: 1, end: 2, complete: true, cells: [], runs: {} };
  server.routes[`${attemptPath}/at`] = () => at;
  render(<AttemptPage run="r" attempt="a" />);
  expect(await screen.findByText("entry 1 of 2")).toBeDefined();
  expect(screen.getByText("results are awaited")).toBeDefined();
});
