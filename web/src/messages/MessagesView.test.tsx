import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TraceSource } from "../api/client";
import { type FakeServer, fakeServer } from "../api/fakeServer";
import { FakeSocket } from "../api/fakeSocket";
import { FakeTrace } from "./fakeTrace";
import MessagesView from "./MessagesView";

const base = "/api/sessions/s";
const ended: TraceSource = { base, watch: null };
const live: TraceSource = { base, watch: "/watch?session=s" };

let trace: FakeTrace;
let server: FakeServer;

beforeEach(() => {
  FakeSocket.install();
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(290); // ten rows
  trace = new FakeTrace(100);
  server = fakeServer({ [`${base}/flow`]: trace.flow, [`${base}/trace`]: trace.trace });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const list = () => screen.getByRole("listbox", { name: "Messages" });
const rows = () => screen.getAllByRole("option");
const row = (seq: number) => screen.getByRole("option", { name: new RegExp(`^entry ${seq}\\b`) });
const selected = () => rows().filter((one) => one.getAttribute("aria-selected") === "true");
const lastQuery = () => server.requests.findLast((url) => url.pathname.endsWith("/flow"))?.searchParams;

async function shown(source = ended) {
  render(<MessagesView source={source} />);
  await screen.findAllByRole("option");
}

test("only rows that are seen are drawn, whatever there is", async () => {
  trace.length = 99_059;
  await shown();
  expect(rows().length).toBeLessThan(30);
  expect(row(1).getAttribute("aria-setsize")).toBe("99059");
  fireEvent.keyDown(list(), { key: "End" });
  await screen.findByRole("option", { name: /^entry 99059\b/ });
  expect(rows().length).toBeLessThan(30);
});

test("a trace that goes on opens at its first entry while that is little more than is seen", async () => {
  trace.length = 11;
  trace.complete = false;
  await shown(live);
  expect(list().scrollTop).toBe(0);
});

test("the keys go from row to row, and the list names the one it is at", async () => {
  await shown();
  fireEvent.keyDown(list(), { key: "ArrowDown" });
  expect(selected()).toEqual([row(1)]);
  fireEvent.keyDown(list(), { key: "ArrowDown" });
  fireEvent.keyDown(list(), { key: "ArrowDown" });
  expect(selected()).toEqual([row(3)]);
  expect(list().getAttribute("aria-activedescendant")).toBe(row(3).id);
  fireEvent.keyDown(list(), { key: "PageDown" });
  expect(Number(selected()[0]?.getAttribute("aria-posinset"))).toBeGreaterThan(10);
  fireEvent.keyDown(list(), { key: "Home" });
  expect(selected()).toEqual([row(1)]);
  fireEvent.keyDown(list(), { key: "ArrowUp" });
  expect(selected()).toEqual([row(1)]);
});

test("an entry that is opened shows what it carries, and its requests light up", async () => {
  trace.overrides.set(2, { requests: [2], type: "run_cell" });
  trace.overrides.set(4, { requests: [2], type: "cell_result", cause: 2 });
  trace.requests = {
    "2": {
      kind: "run",
      action: "run_cell",
      state: "answered",
      text: "ended after 2.0ms: run 2.0ms",
      seqs: [2, 0, 0, 4, 0],
    },
  };
  await shown();
  expect(within(row(2)).getByText("ended after 2.0ms: run 2.0ms")).toBeDefined();
  fireEvent.click(row(4));
  const panel = screen.getByRole("region", { name: "Entry 4" });
  expect(await within(panel).findByText(/"cell_output"/)).toBeDefined();
  expect(row(2).className).toContain("kin");
  expect(row(3).className).not.toContain("kin");
  fireEvent.click(within(panel).getByRole("button", { name: "entry 2" }));
  await screen.findByRole("region", { name: "Entry 2" });
  fireEvent.keyDown(list(), { key: "Escape" });
  expect(screen.queryByRole("region", { name: /Entry/ })).toBeNull();
});

test("a request is asked for what it came from, and a large one only when it is wanted", async () => {
  trace.overrides.set(5, { ref: 3 });
  trace.overrides.set(6, { bytes: 50 * 1024 * 1024 });
  await shown();
  fireEvent.click(row(5));
  await waitFor(() => expect(server.requests.at(-1)?.search).toBe("?from=3&limit=1"));
  await screen.findByText(/the same as/);
  const before = server.requests.length;
  fireEvent.click(row(6));
  fireEvent.click(await screen.findByRole("button", { name: "Show" }));
  expect(server.requests.length).toBe(before + 1);
  expect(server.requests.at(-1)?.search).toBe("?from=6&limit=1");
});

test("a filter is asked of the server, shown as a chip, and taken out by it", async () => {
  await shown();
  fireEvent.change(screen.getByRole("combobox", { name: "Filter by" }), { target: { value: "late" } });
  const field = screen.getByRole("textbox", { name: "Slower than" });
  fireEvent.change(field, { target: { value: "soon" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  expect(screen.getByRole("alert").textContent).toMatch(/milliseconds/);
  fireEvent.change(field, { target: { value: "250" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  await screen.findByText("10 of 100 messages");
  expect(lastQuery()?.get("late")).toBe("250");
  fireEvent.click(screen.getByRole("button", { name: /Remove filter: Slower than 250 ms/ }));
  await screen.findByText("100 messages");
  expect(lastQuery()?.has("late")).toBe(false);
});

test("a text is looked for in every message by the server", async () => {
  await shown();
  fireEvent.change(screen.getByRole("textbox", { name: "Text" }), { target: { value: "KeyError: 'x'" } });
  fireEvent.click(screen.getByRole("button", { name: "Filter" }));
  await screen.findByText("10 of 100 messages");
  expect(lastQuery()?.get("text")).toBe("KeyError: 'x'");
  fireEvent.click(screen.getByRole("button", { name: /Remove filter: Text KeyError/ }));
  await screen.findByText("100 messages");
});

test("pieces of replies are hidden, and counted, until they are wanted", async () => {
  trace.isStreamFrame = (seq) => seq > 3 && seq <= 90;
  trace.overrides.set(91, { t_ns: 9e12 });
  await shown();
  await screen.findByText("13 of 100 messages");
  expect([3, 91, 92].map((seq) => row(seq).getAttribute("aria-posinset"))).toEqual(["3", "4", "5"]);
  expect(within(row(91)).queryByTitle(/Nothing for/)).toBeNull();
  const streams = screen.getByRole("checkbox", { name: "stream pieces: 87 hidden" });
  fireEvent.click(streams);
  await screen.findByText("100 messages");
  expect(row(4)).toBeDefined();
  fireEvent.click(screen.getByRole("checkbox", { name: "stream pieces" }));
  await screen.findByText("13 of 100 messages");
});

test("the way to an entry shows pieces of replies only if it is one", async () => {
  trace.isStreamFrame = (seq) => seq % 2 === 0;
  trace.overrides.set(20, { cause: 7 });
  trace.overrides.set(7, { cause: 6 });
  render(<MessagesView source={ended} focus={{ cell: "c1" }} />);
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("10 of 100 messages");
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("0 of 100 messages");
  fireEvent.click(screen.getByRole("checkbox"));
  await screen.findByText("10 of 100 messages");
  fireEvent.click(await screen.findByRole("option", { name: /^entry 20\b/ }));
  fireEvent.click(await screen.findByRole("button", { name: "entry 7" }));
  await waitFor(() => expect(selected()).toEqual([row(7)]));
  fireEvent.click(await screen.findByRole("button", { name: "entry 6" }));
  await waitFor(() => expect(selected()).toEqual([row(6)]));
});

test("what an entry is about can be picked, and the way to one that is not picked takes the filter out", async () => {
  trace.overrides.set(20, { cause: 7 });
  await shown();
  fireEvent.click(row(3));
  fireEvent.click(await screen.findByRole("button", { name: "c1" }));
  await screen.findByText("10 of 100 messages");
  expect(lastQuery()?.get("cell")).toBe("c1");
  fireEvent.click(row(20));
  fireEvent.click(await screen.findByRole("button", { name: "entry 7" }));
  await screen.findByText("100 messages");
  await waitFor(() => expect(selected()).toEqual([row(7)]));
});

test("the first focus is a filter", async () => {
  render(<MessagesView source={ended} focus={{ tx: "tx_9" }} />);
  await screen.findByText("10 of 100 messages");
  expect(lastQuery()?.get("tx")).toBe("tx_9");
});

test("n goes to the next odd one, and says when there is none", async () => {
  trace.overrides.set(60, { note: "timed_out" });
  await shown();
  fireEvent.keyDown(list(), { key: "n" });
  await waitFor(() => expect(selected()).toEqual([row(60)]));
  expect(within(row(60)).getByText("timed out")).toBeDefined();
  fireEvent.keyDown(list(), { key: "n" });
  await screen.findByText("No problem after this.");
});

test("a long silence is said where it ended", async () => {
  trace.overrides.set(3, { t_ns: 9e9 });
  await shown();
  expect(within(row(3)).getByText("9.0 s")).toBeDefined();
  expect(within(row(2)).queryByTitle(/Nothing for/)).toBeNull();
});

test("entries of any kind are drawn", async () => {
  const long = "\u202e<img src=x onerror=alert(1)>".repeat(1e4);
  trace.overrides.set(1, { hop: null, type: 3, action: [], note: {}, bytes: null });
  trace.overrides.set(2, { hop: long, type: long, action: long, tx_id: long, cell_id: long, label: long, note: long });
  trace.overrides.set(3, { hop: "kernel>kernel", conn: -1, requests: [3, 3, "x"], cause: 1e99 });
  trace.requests = { "3": { state: 9, text: long, hops: [{ hop: long, ms: "x" }, null], seqs: [3, long] }, x: null };
  await shown();
  for (const seq of [1, 2, 3]) {
    fireEvent.click(row(seq));
    await screen.findByRole("region", { name: `Entry ${seq}` });
  }
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).not.toContain("\u202e");
  expect(document.body.textContent.length).toBeLessThan(20_000);
});

test("a live trace is followed at its end; away from it, what is new is counted", async () => {
  trace.complete = false;
  await shown(live);
  expect(row(100)).toBeDefined();
  const grow = async (length: number) => {
    trace.length = length;
    FakeSocket.newest().send({ seq: length, hop: "session" });
    await screen.findByText(`${length} messages`);
  };
  await grow(130);
  expect(row(130)).toBeDefined();
  list().scrollTop = 0;
  fireEvent.scroll(list());
  await grow(142);
  expect(row(1)).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "12 new" }));
  expect(row(142)).toBeDefined();
  expect(screen.queryByRole("button", { name: /new$/ })).toBeNull();
});

test("a live trace whose pieces are hidden grows by the others, which are asked for once", async () => {
  trace.isStreamFrame = (seq) => seq > 20 && seq % 10 !== 0;
  trace.complete = false;
  await shown(live);
  const grow = async (length: number, text: string) => {
    trace.length = length;
    FakeSocket.newest().send({ seq: length, hop: "session" });
    await screen.findByText(text);
  };
  await screen.findByText("28 of 100 messages");
  const before = server.requests.length;
  await grow(129, "30 of 129 messages");
  expect(row(120)).toBeDefined();
  await grow(139, "31 of 139 messages");
  expect(row(130)).toBeDefined();
  const asked = server.requests.slice(before).filter(({ pathname }) => pathname.endsWith("/flow"));
  expect(asked.map(({ search }) => search)).toEqual([
    "?streams=false&from=101&limit=5000",
    "?streams=false&from=130&limit=5000",
  ]);
});

test("a request without an answer waits with a clock, until it has one", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: Date.parse("2026-11-20T14:00:10Z") });
  try {
    trace.length = 5;
    trace.complete = false;
    trace.overrides.set(5, { t_ns: 4e9, requests: [5] });
    trace.requests = {
      "5": { state: "unanswered", slowest: "kernel", text: "unanswered: kernel", seqs: [5, 0, 0, 0, 0] },
    };
    await shown(live);
    expect(await within(row(5)).findByText("waiting for kernel for 6.0 s")).toBeDefined();
    act(() => vi.advanceTimersByTime(2000));
    expect(within(row(5)).getByText("waiting for kernel for 8.0 s")).toBeDefined();
    trace.length = 6;
    trace.requests = { "5": { state: "answered", text: "answered in 8.0s: kernel 8.0s", seqs: [5, 0, 0, 6, 0] } };
    FakeSocket.newest().send({ seq: 6, hop: "session" });
    expect(await within(row(5)).findByText("answered in 8.0s: kernel 8.0s")).toBeDefined();
  } finally {
    vi.useRealTimers();
  }
});

test("a lost connection is told until it is back, and the end of a session's trace lets one look again", async () => {
  trace.complete = false;
  await shown(live);
  await waitFor(() => expect(FakeSocket.newest()).toBeDefined());
  act(() => FakeSocket.newest().end(1006));
  await screen.findByText(/connection to the server was lost/);
  const before = FakeSocket.newest();
  await waitFor(() => expect(FakeSocket.newest()).not.toBe(before));
  trace.length = 101;
  act(() => FakeSocket.newest().open());
  await screen.findByText("live");
  await screen.findByText("101 messages");
  trace.complete = true;
  act(() => FakeSocket.newest().end(1000));
  trace.length = 3;
  fireEvent.click(await screen.findByRole("button", { name: "Check again" }));
  await screen.findByText("3 messages");
  await waitFor(() => expect(FakeSocket.newest().url).toContain("from=4"));
});

test("when another session may have begun, a trace that has ended is looked for again, once", async () => {
  trace.complete = false;
  const { rerender } = render(<MessagesView source={live} renew={1} />);
  await screen.findByText("100 messages");
  rerender(<MessagesView source={live} renew={2} />);
  expect(screen.queryByText(/The trace has ended/)).toBeNull();
  trace.length = 300;
  trace.overrides.set(1, { t_ns: 7, type: "state" });
  act(() => FakeSocket.newest().end(1000));
  await screen.findByText("300 messages");
  await waitFor(() => expect(FakeSocket.newest().url).toContain("from=301"));
  fireEvent.keyDown(list(), { key: "Home" });
  expect(await screen.findByRole("option", { name: /^entry 1\b.*state/ })).toBeDefined();
  act(() => FakeSocket.newest().end(1000));
  await screen.findByText(/The trace has ended/);
});

test("what cannot be loaded is told, and can be tried again", async () => {
  trace.isBroken = true;
  render(<MessagesView source={ended} />);
  await screen.findByText(/the trace is damaged/);
  trace.isBroken = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("100 messages");
});

test("the statistics are of what is picked", async () => {
  trace.requests = { "1": { kind: "action", action: "get_context", state: "timed_out", total_ms: 8000 } };
  await shown();
  fireEvent.click(screen.getByRole("button", { name: "Statistics" }));
  const line = await screen.findByRole("row", { name: /get_context/ });
  expect(
    within(line)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["action", "1", "8.000s", "8.000s", "8.000s", "1", "0", "0"]);
});
