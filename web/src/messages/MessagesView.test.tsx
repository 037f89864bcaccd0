import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TraceSource } from "../api/client";
import { type FakeServer, fakeServer } from "../api/fakeServer";
import { FakeSocket } from "../api/fakeSocket";
import { FakeTrace } from "./fakeTrace";
import MessagesView from "./MessagesView";

const sessionPath = "/api/sessions/s";
const endedTrace: TraceSource = { base: sessionPath, watch: null };
const liveTrace: TraceSource = { base: sessionPath, watch: "/watch?session=s" };

let fakeTrace: FakeTrace;
let apiServer: FakeServer;

beforeEach(() => {
  FakeSocket.install();
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(290); // ten rows
  fakeTrace = new FakeTrace(100);
  apiServer = fakeServer({
    [`${sessionPath}/flow`]: fakeTrace.flow,
    [`${sessionPath}/trace`]: fakeTrace.trace,
    [`${sessionPath}/request`]: () => ({ seq: 2, call: 2, request: { messages: ["whole"] } }),
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const messageList = () => screen.getByRole("listbox", { name: "Messages" });
const rowElements = () => screen.getAllByRole("option");
const rowElement = (seq: number) => screen.getByRole("option", { name: new RegExp(`^entry ${seq}\\b`) });
const selectedRows = () => rowElements().filter((one) => one.getAttribute("aria-selected") === "true");
const lastFlowQuery = () => apiServer.requests.findLast((url) => url.pathname.endsWith("/flow"))?.searchParams;

async function renderMessagesView(source = endedTrace) {
  render(<MessagesView source={source} />);
  await screen.findAllByRole("option");
}

test("only visible rows are drawn", async () => {
  fakeTrace.length = 99_059;
  await renderMessagesView();
  expect(rowElements().length).toBeLessThan(30);
  expect(rowElement(1).getAttribute("aria-setsize")).toBe("99059");
  fireEvent.keyDown(messageList(), { key: "End" });
  await screen.findByRole("option", { name: /^entry 99059\b/ });
  expect(rowElements().length).toBeLessThan(30);
});

test("a short live trace opens at its first entry", async () => {
  fakeTrace.length = 11;
  fakeTrace.complete = false;
  await renderMessagesView(liveTrace);
  expect(messageList().scrollTop).toBe(0);
});

test("keys move from row to row, and the list has the row as its active descendant", async () => {
  await renderMessagesView();
  fireEvent.keyDown(messageList(), { key: "ArrowDown" });
  expect(selectedRows()).toEqual([rowElement(1)]);
  fireEvent.keyDown(messageList(), { key: "ArrowDown" });
  fireEvent.keyDown(messageList(), { key: "ArrowDown" });
  expect(selectedRows()).toEqual([rowElement(3)]);
  expect(messageList().getAttribute("aria-activedescendant")).toBe(rowElement(3).id);
  fireEvent.keyDown(messageList(), { key: "PageDown" });
  expect(Number(selectedRows()[0]?.getAttribute("aria-posinset"))).toBeGreaterThan(10);
  fireEvent.keyDown(messageList(), { key: "Home" });
  expect(selectedRows()).toEqual([rowElement(1)]);
  fireEvent.keyDown(messageList(), { key: "ArrowUp" });
  expect(selectedRows()).toEqual([rowElement(1)]);
});

test("an opened entry shows its message and highlights its requests", async () => {
  fakeTrace.overrides.set(2, { requests: [2], type: "run_cell" });
  fakeTrace.overrides.set(4, { requests: [2], type: "cell_result", cause: 2 });
  fakeTrace.requests = {
    "2": {
      kind: "run",
      action: "run_cell",
      state: "answered",
      text: "ended after 2.0ms: run 2.0ms",
      seqs: [2, 0, 0, 4, 0],
    },
  };
  await renderMessagesView();
  expect(within(rowElement(2)).getByText("ended after 2.0ms: run 2.0ms")).toBeDefined();
  fireEvent.click(rowElement(4));
  const panel = screen.getByRole("region", { name: "Entry 4" });
  expect(await within(panel).findByText(/"cell_output"/)).toBeDefined();
  expect(rowElement(2).className).toContain("kin");
  expect(rowElement(3).className).not.toContain("kin");
  fireEvent.click(within(panel).getByRole("button", { name: "entry 2" }));
  await screen.findByRole("region", { name: "Entry 2" });
  fireEvent.keyDown(messageList(), { key: "Escape" });
  expect(screen.queryByRole("region", { name: /Entry/ })).toBeNull();
});

test("a message is loaded when its entry is opened; a large one only on request", async () => {
  fakeTrace.overrides.set(5, { ref: 3 });
  fakeTrace.overrides.set(6, { bytes: 50 * 1024 * 1024 });
  await renderMessagesView();
  fireEvent.click(rowElement(5));
  await waitFor(() => expect(apiServer.requests.at(-1)?.search).toBe("?from=3&limit=1"));
  await screen.findByText(/the same as/);
  const before = apiServer.requests.length;
  fireEvent.click(rowElement(6));
  fireEvent.click(await screen.findByRole("button", { name: "Show" }));
  expect(apiServer.requests.length).toBe(before + 1);
  expect(apiServer.requests.at(-1)?.search).toBe("?from=6&limit=1");
});

test("calls of models have a lane, and show what they leave out", async () => {
  await renderMessagesView();
  expect(screen.queryByText("model")).toBeNull();
  cleanup();
  fakeTrace.modelCalls = 2;
  const call = { hop: "agent>model", type: "model_call", tx_id: "model_2", cell_id: undefined, requests: [2] };
  fakeTrace.overrides.set(2, {
    ...call,
    label: "messages claude-x",
    msg: { type: "model_call", call: 2, request: { messages: [3] }, same: { call: 1, count: 2 } },
  });
  fakeTrace.overrides.set(3, { ...call, hop: "model>agent", type: "model_reply", label: "ok 200" });
  fakeTrace.requests = {
    "2": {
      kind: "model",
      action: "claude-x",
      state: "answered",
      text: "answered in 2.0s: model 2.0s; 900 tokens in, 40 out, cost unknown",
      seqs: [2, 0, 0, 3, 0],
      model_call: { call: 2, api: "messages", model: "claude-x", outcome: "ok", cost_usd: null, retry_wait_ms: 4000 },
    },
  };
  await renderMessagesView();
  expect(screen.getByText("model")).toBeDefined();
  expect(within(rowElement(2)).getByRole("img", { name: "agent to model" })).toBeDefined();
  expect(within(rowElement(3)).getByRole("img", { name: "model to agent" })).toBeDefined();
  fireEvent.click(rowElement(2));
  const panel = screen.getByRole("region", { name: "Entry 2" });
  expect(within(panel).getByText("call 2 of claude-x, API messages, 4.000s after a refusal")).toBeDefined();
  expect(await within(panel).findByText(/call 1 has the same: the first 2 messages\./)).toBeDefined();
  fireEvent.click(within(panel).getByRole("button", { name: "Show the whole request" }));
  await within(panel).findByText(/^The whole request; call 1/);
  expect(apiServer.requests.at(-1)?.pathname).toBe(`${sessionPath}/request`);
  expect(apiServer.requests.at(-1)?.search).toBe("?seq=2");
  fireEvent.click(within(panel).getByRole("button", { name: /^request/ }));
  fireEvent.click(within(panel).getByRole("button", { name: /^messages/ }));
  expect(within(panel).getByText(/"whole"/)).toBeDefined();
});

test("a filter is sent to the server and shown as a chip that removes it", async () => {
  await renderMessagesView();
  fireEvent.change(screen.getByRole("combobox", { name: "Filter by" }), { target: { value: "late" } });
  const field = screen.getByRole("textbox", { name: "Slower than" });
  fireEvent.change(field, { target: { value: "soon" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  expect(screen.getByRole("alert").textContent).toMatch(/milliseconds/);
  fireEvent.change(field, { target: { value: "250" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  await screen.findByText("10 of 100 messages");
  expect(lastFlowQuery()?.get("late")).toBe("250");
  fireEvent.click(screen.getByRole("button", { name: /Remove filter: Slower than 250 ms/ }));
  await screen.findByText("100 messages");
  expect(lastFlowQuery()?.has("late")).toBe(false);
});

test("the server searches all messages for a text", async () => {
  await renderMessagesView();
  fireEvent.change(screen.getByRole("textbox", { name: "Text" }), { target: { value: "KeyError: 'x'" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  await screen.findByText("10 of 100 messages");
  expect(lastFlowQuery()?.get("text")).toBe("KeyError: 'x'");
  fireEvent.click(screen.getByRole("button", { name: /Remove filter: Text KeyError/ }));
  await screen.findByText("100 messages");
});

test("stream frames are hidden and counted until the user shows them", async () => {
  fakeTrace.isStreamFrame = (seq) => seq > 3 && seq <= 90;
  fakeTrace.overrides.set(91, { t_ns: 9e12 });
  await renderMessagesView();
  await screen.findByText("13 of 100 messages");
  expect([3, 91, 92].map((seq) => rowElement(seq).getAttribute("aria-posinset"))).toEqual(["3", "4", "5"]);
  expect(within(rowElement(91)).queryByTitle(/Nothing for/)).toBeNull();
  const streams = screen.getByRole("checkbox", { name: "stream pieces: 87 hidden" });
  fireEvent.click(streams);
  await screen.findByText("100 messages");
  expect(rowElement(4)).toBeDefined();
  fireEvent.click(screen.getByRole("checkbox", { name: "stream pieces" }));
  await screen.findByText("13 of 100 messages");
});

test("going to an entry shows stream frames only if the entry is one", async () => {
  fakeTrace.isStreamFrame = (seq) => seq % 2 === 0;
  fakeTrace.overrides.set(20, { cause: 7 });
  fakeTrace.overrides.set(7, { cause: 6 });
  render(<MessagesView source={endedTrace} focus={{ cell: "c1" }} />);
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("10 of 100 messages");
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("0 of 100 messages");
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("10 of 100 messages");
  fireEvent.click(await screen.findByRole("option", { name: /^entry 20\b/ }));
  fireEvent.click(await screen.findByRole("button", { name: "entry 7" }));
  await waitFor(() => expect(selectedRows()).toEqual([rowElement(7)]));
  fireEvent.click(await screen.findByRole("button", { name: "entry 6" }));
  await waitFor(() => expect(selectedRows()).toEqual([rowElement(6)]));
});

test("a field of an entry becomes a filter, and going to an entry that does not match removes it", async () => {
  fakeTrace.overrides.set(20, { cause: 7 });
  await renderMessagesView();
  fireEvent.click(rowElement(3));
  fireEvent.click(await screen.findByRole("button", { name: "c1" }));
  await screen.findByText("10 of 100 messages");
  expect(lastFlowQuery()?.get("cell")).toBe("c1");
  fireEvent.click(rowElement(20));
  fireEvent.click(await screen.findByRole("button", { name: "entry 7" }));
  await screen.findByText("100 messages");
  await waitFor(() => expect(selectedRows()).toEqual([rowElement(7)]));
});

test("the first element in the tab order is a filter", async () => {
  render(<MessagesView source={endedTrace} focus={{ tx: "tx_9" }} />);
  await screen.findByText("10 of 100 messages");
  expect(lastFlowQuery()?.get("tx")).toBe("tx_9");
});

test("the key n goes to the next problem and reports if there is none", async () => {
  fakeTrace.overrides.set(60, { note: "timed_out" });
  await renderMessagesView();
  fireEvent.keyDown(messageList(), { key: "n" });
  await waitFor(() => expect(selectedRows()).toEqual([rowElement(60)]));
  expect(within(rowElement(60)).getByText("timed out")).toBeDefined();
  fireEvent.keyDown(messageList(), { key: "n" });
  await screen.findByText("No problem after this.");
});

test("a long pause is shown at the entry after it", async () => {
  fakeTrace.overrides.set(3, { t_ns: 9e9 });
  await renderMessagesView();
  expect(within(rowElement(3)).getByText("9.0 s")).toBeDefined();
  expect(within(rowElement(2)).queryByTitle(/Nothing for/)).toBeNull();
});

test("entries of any shape are drawn", async () => {
  const long = "\u202e<img src=x onerror=alert(1)>".repeat(1e4);
  fakeTrace.overrides.set(1, { hop: null, type: 3, action: [], note: {}, bytes: null });
  fakeTrace.overrides.set(2, {
    hop: long,
    type: long,
    action: long,
    tx_id: long,
    cell_id: long,
    label: long,
    note: long,
  });
  fakeTrace.overrides.set(3, { hop: "kernel>kernel", conn: -1, requests: [3, 3, "x"], cause: 1e99 });
  fakeTrace.requests = {
    "3": { state: 9, text: long, hops: [{ hop: long, ms: "x" }, null], seqs: [3, long] },
    x: null,
  };
  await renderMessagesView();
  for (const seq of [1, 2, 3]) {
    fireEvent.click(rowElement(seq));
    await screen.findByRole("region", { name: `Entry ${seq}` });
  }
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).not.toContain("\u202e");
  expect(document.body.textContent.length).toBeLessThan(20_000);
});

test("a live trace scrolls to new entries at its end, and elsewhere counts them", async () => {
  fakeTrace.complete = false;
  await renderMessagesView(liveTrace);
  expect(rowElement(100)).toBeDefined();
  const grow = async (length: number) => {
    fakeTrace.length = length;
    FakeSocket.newest().send({ seq: length, hop: "session" });
    await screen.findByText(`${length} messages`);
  };
  await grow(130);
  expect(rowElement(130)).toBeDefined();
  messageList().scrollTop = 0;
  fireEvent.scroll(messageList());
  await grow(142);
  expect(rowElement(1)).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "12 new" }));
  expect(rowElement(142)).toBeDefined();
  expect(screen.queryByRole("button", { name: /new$/ })).toBeNull();
});

test("a live trace with hidden stream frames loads each other new entry once", async () => {
  fakeTrace.isStreamFrame = (seq) => seq > 20 && seq % 10 !== 0;
  fakeTrace.complete = false;
  await renderMessagesView(liveTrace);
  const grow = async (length: number, text: string) => {
    fakeTrace.length = length;
    FakeSocket.newest().send({ seq: length, hop: "session" });
    await screen.findByText(text);
  };
  await screen.findByText("28 of 100 messages");
  const before = apiServer.requests.length;
  await grow(129, "30 of 129 messages");
  expect(rowElement(120)).toBeDefined();
  await grow(139, "31 of 139 messages");
  expect(rowElement(130)).toBeDefined();
  const asked = apiServer.requests.slice(before).filter(({ pathname }) => pathname.endsWith("/flow"));
  expect(asked.map(({ search }) => search)).toEqual([
    "?streams=false&from=101&limit=5000",
    "?streams=false&from=130&limit=5000",
  ]);
});

test("an unanswered request shows its waiting time until it is answered", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: Date.parse("2026-11-20T14:00:10Z") });
  try {
    fakeTrace.length = 5;
    fakeTrace.complete = false;
    fakeTrace.overrides.set(5, { t_ns: 4e9, requests: [5] });
    fakeTrace.requests = {
      "5": { state: "unanswered", slowest: "kernel", text: "unanswered: kernel", seqs: [5, 0, 0, 0, 0] },
    };
    await renderMessagesView(liveTrace);
    expect(await within(rowElement(5)).findByText("waiting for kernel for 6.0 s")).toBeDefined();
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setTimeout(resolve, 1)); // until the row counts
    act(() => vi.advanceTimersByTime(2000));
    expect(within(rowElement(5)).getByText("waiting for kernel for 8.0 s")).toBeDefined();
    fakeTrace.length = 6;
    fakeTrace.requests = { "5": { state: "answered", text: "answered in 8.0s: kernel 8.0s", seqs: [5, 0, 0, 6, 0] } };
    FakeSocket.newest().send({ seq: 6, hop: "session" });
    expect(await within(rowElement(5)).findByText("answered in 8.0s: kernel 8.0s")).toBeDefined();
  } finally {
    vi.useRealTimers();
  }
});

test("a lost connection is shown until it is restored, and an ended session's trace can be loaded again", async () => {
  fakeTrace.complete = false;
  await renderMessagesView(liveTrace);
  await waitFor(() => expect(FakeSocket.newest()).toBeDefined());
  act(() => FakeSocket.newest().end(1006));
  await screen.findByText(/connection to the server was lost/);
  const before = FakeSocket.newest();
  await waitFor(() => expect(FakeSocket.newest()).not.toBe(before));
  fakeTrace.length = 101;
  act(() => FakeSocket.newest().open());
  await screen.findByText("live");
  await screen.findByText("101 messages");
  fakeTrace.complete = true;
  act(() => FakeSocket.newest().end(1000));
  fakeTrace.length = 3;
  fireEvent.click(await screen.findByRole("button", { name: "Check again" }));
  await screen.findByText("3 messages");
  await waitFor(() => expect(FakeSocket.newest().url).toContain("from=4"));
});

test("an ended trace is loaded again once if another session may have begun", async () => {
  fakeTrace.complete = false;
  const { rerender } = render(<MessagesView source={liveTrace} renew={1} />);
  await screen.findByText("100 messages");
  rerender(<MessagesView source={liveTrace} renew={2} />);
  expect(screen.queryByText(/The trace has ended/)).toBeNull();
  fakeTrace.length = 300;
  fakeTrace.overrides.set(1, { t_ns: 7, type: "state" });
  act(() => FakeSocket.newest().end(1000));
  await screen.findByText("300 messages");
  await waitFor(() => expect(FakeSocket.newest().url).toContain("from=301"));
  fireEvent.keyDown(messageList(), { key: "Home" });
  expect(await screen.findByRole("option", { name: /^entry 1\b.*state/ })).toBeDefined();
  act(() => FakeSocket.newest().end(1000));
  await screen.findByText(/The trace has ended/);
});

test("a failed request is reported and can be retried", async () => {
  fakeTrace.isBroken = true;
  render(<MessagesView source={endedTrace} />);
  await screen.findByText(/the trace is damaged/);
  fakeTrace.isBroken = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("100 messages");
});

test("the statistics are those of the filtered requests", async () => {
  fakeTrace.requests = { "1": { kind: "action", action: "get_context", state: "timed_out", total_ms: 8000 } };
  await renderMessagesView();
  fireEvent.click(screen.getByRole("button", { name: "Statistics" }));
  const line = await screen.findByRole("row", { name: /get_context/ });
  expect(
    within(line)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["action", "1", "8.000s", "8.000s", "8.000s", "1", "0", "0"]);
});
