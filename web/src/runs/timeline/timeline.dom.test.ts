import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer, problemResponse } from "../../api/fakeServer";
import { FakeSocket } from "../../api/fakeSocket";
import { createStore } from "../../store/store";
import { Timeline } from "./timeline";

const attemptPath = "/api/runs/r/attempts/a";
const liveTrace = { base: attemptPath, watch: "/watch?run=r&attempt=a" };
const endedTrace = { base: attemptPath, watch: null };

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "requestAnimationFrame", "cancelAnimationFrame", "performance"],
  });
  FakeSocket.install();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function wireCell(id: string) {
  return { cell_id: id, cell_type: "code", source: id, display_name: "", rev: 1 };
}

/** Returns the API's notebook state after entry seq; the notebook has seq cells then. */
function notebookStateAt(seq: number, end: number, complete: boolean) {
  const cells = Array.from({ length: seq }, (_, i) => wireCell(`c${i + 1}`));
  const runs = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };
  return { type: "notebook_state", seq, t_ns: seq * 1e9, wall: "", end, complete, cells, runs };
}

/** Returns the trace entry that creates the cell with number seq. t is its time in nanoseconds. */
function cellCreatedEntry(seq: number, t = seq * 1e9) {
  const msg = {
    type: "notebook_event",
    event: "cell_created",
    by: "agent",
    cell: wireCell(`c${seq}`),
    position: seq - 1,
  };
  return { seq, t_ns: t, hop: "notebook", type: "notebook_event", msg };
}

function agentMessageEntry(seq: number, text: string) {
  const entry = { type: "anthropic_message", role: "assistant", content: text };
  return {
    seq,
    t_ns: seq,
    hop: "agent>server",
    type: "agent_history_updated",
    msg: { type: "agent_history_updated", entry },
  };
}

/** Serves a trace of `end` entries that create cells, except for the entries in said. */
function serveTrace(end: number, said: readonly { seq: number; hop: string; type: string }[] = [], complete = true) {
  const made = Array.from({ length: end }, (_, i) => said.find(({ seq }) => seq === i + 1) ?? cellCreatedEntry(i + 1));
  return fakeServer({
    [`${attemptPath}/at`]: (url) => notebookStateAt(Number(url.searchParams.get("seq") ?? end), end, complete),
    [`${attemptPath}/trace`]: (url) => {
      const [types, from] = [url.searchParams.get("type"), Number(url.searchParams.get("from") ?? 1)];
      const limit = Number(url.searchParams.get("limit"));
      const all = types === null ? made : made.filter(({ type }) => types.includes(type));
      const rest = all.filter(({ seq }) => seq >= from);
      return { entries: rest.slice(0, limit), next: rest[limit]?.seq ?? null };
    },
  });
}

function requestedStateSeqs(server: { requests: URL[] }): (string | null)[] {
  return server.requests
    .filter((url) => url.pathname === `${attemptPath}/at`)
    .map((url) => url.searchParams.get("seq"));
}

const waitForRequests = () => vi.advanceTimersByTimeAsync(20);

test("a timeline starts at the end of the trace, with marks and conversation", async () => {
  serveTrace(3, [agentMessageEntry(3, "hello")]);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({
    seq: 3,
    end: 3,
    isComplete: true,
    mode: "still",
    isLoading: false,
    isLoaded: true,
  });
  expect(timeline.get().marks.map((mark) => mark.seq)).toEqual([1, 2, 3]);
  expect(timeline.store.get().notebook.order).toEqual(["c1", "c2", "c3"]);
  expect(timeline.store.get().agent.conversation).toMatchObject([{ kind: "text", text: "hello" }]);
});

test("dragging requests one state at a time, and the last position wins", async () => {
  const server = serveTrace(100);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  server.requests.length = 0;
  for (const seq of [10, 20, 30, 40]) timeline.goTo(seq);
  expect(timeline.get()).toMatchObject({ seq: 40, isLoading: true });
  await waitForRequests();
  expect(requestedStateSeqs(server)).toEqual(["10", "40"]);
  expect(timeline.get()).toMatchObject({ seq: 40, isLoading: false, ms: 40_000 });
  expect(timeline.store.get().notebook.order).toHaveLength(40);
});

test("an earlier entry shows the conversation up to it", async () => {
  serveTrace(9, [agentMessageEntry(2, "first"), agentMessageEntry(6, "second")]);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  timeline.goTo(5);
  await waitForRequests();
  expect(timeline.store.get().agent.conversation).toMatchObject([{ text: "first" }]);
  timeline.goTo("end");
  await waitForRequests();
  expect(timeline.store.get().agent.conversation).toHaveLength(2);
});

test("steps move from mark to mark and stop at both ends", async () => {
  serveTrace(30);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  const at: number[] = [];
  for (const by of [-1, -10, -100, 1, 10, 100]) {
    timeline.step(by);
    await waitForRequests();
    at.push(timeline.get().seq);
  }
  expect(at).toEqual([29, 19, 1, 2, 12, 30]);
});

test("a failed request for a state is reported, and the next one is sent", async () => {
  const server = serveTrace(10);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  const good = globalThis.fetch;
  vi.stubGlobal("fetch", async () => problemResponse(500, "unreadable", "the trace is damaged"));
  timeline.goTo(4);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ problem: "the trace is damaged", isLoading: false });
  vi.stubGlobal("fetch", good);
  timeline.goTo(5);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ problem: null, seq: 5 });
  expect(requestedStateSeqs(server).at(-1)).toBe("5");
});

test("playback follows the times of the trace, multiplied by the speed, and shortens pauses", async () => {
  serveTrace(6);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  timeline.goTo(1);
  await waitForRequests();
  timeline.play(4); // a second of the trace is 250 ms
  await vi.advanceTimersByTimeAsync(300);
  expect(timeline.get()).toMatchObject({ seq: 2, mode: "playing" });
  expect(timeline.store.get().notebook.order).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(500);
  expect(timeline.get().seq).toBe(4);
  await vi.advanceTimersByTimeAsync(1000);
  expect(timeline.get()).toMatchObject({ seq: 6, mode: "still" });
});

test("a pause of an hour is played in two seconds", async () => {
  const hour = 3600e9;
  fakeServer({
    [`${attemptPath}/at`]: () => notebookStateAt(1, 2, true),
    [`${attemptPath}/trace`]: (url) => ({
      entries: [cellCreatedEntry(1, 0), cellCreatedEntry(2, hour)].filter(
        ({ seq }) => seq >= Number(url.searchParams.get("from")),
      ),
      next: null,
    }),
  });
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  timeline.play(1);
  await vi.advanceTimersByTimeAsync(1900);
  expect(timeline.get().seq).toBe(1);
  await vi.advanceTimersByTimeAsync(300);
  expect(timeline.get().seq).toBe(2);
});

test("playback at the end starts before the first entry", async () => {
  serveTrace(2);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  timeline.play(16);
  expect(timeline.get().seq).toBe(0);
  expect(timeline.store.get().notebook.order).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(timeline.store.get().notebook.order).toEqual(["c1", "c2"]);
});

test("pausing keeps the position", async () => {
  serveTrace(50);
  const timeline = new Timeline(endedTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  timeline.goTo(1);
  await waitForRequests();
  timeline.play(1);
  await vi.advanceTimersByTimeAsync(1100);
  timeline.pause();
  const { seq } = timeline.get();
  await vi.advanceTimersByTimeAsync(5000);
  expect(timeline.get()).toMatchObject({ seq, mode: "still" });
});

test("a live trace is followed from its newest state, in order, until it ends", async () => {
  serveTrace(3, [], false);
  const onEnd = vi.fn();
  const timeline = new Timeline(liveTrace, createStore());
  timeline.begin(onEnd);
  await waitForRequests();
  const socket = FakeSocket.newest();
  expect(socket.url).toContain("/watch?run=r&attempt=a&from=4");
  socket.open();
  socket.send({ type: "trace", version: 1 });
  for (const entry of [cellCreatedEntry(4), cellCreatedEntry(4), agentMessageEntry(5, "now"), cellCreatedEntry(2)])
    socket.send(entry);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ seq: 5, end: 5, mode: "live" });
  expect(timeline.store.get().notebook.order).toHaveLength(4);
  expect(timeline.store.get().agent.conversation).toHaveLength(1);
  expect(timeline.agentCheckpoints.at(5).conversation).toHaveLength(1);
  expect(timeline.get().marks.map((mark) => mark.seq)).toEqual([1, 2, 3, 4, 5]);
  socket.end(1000);
  await waitForRequests();
  expect(onEnd).toHaveBeenCalledOnce();
  expect(timeline.get()).toMatchObject({ mode: "still", isComplete: true });
});

test("live entries wait until the past is loaded", async () => {
  let release: (page: object) => void = () => undefined;
  const past = new Promise<object>((resolve) => {
    release = resolve;
  });
  fakeServer({
    [`${attemptPath}/at`]: () => notebookStateAt(1, 1, false),
    [`${attemptPath}/trace`]: (url) =>
      url.searchParams.has("type") ? past : { entries: [cellCreatedEntry(1)], next: null },
  });
  const timeline = new Timeline(liveTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  FakeSocket.newest().open();
  FakeSocket.newest().send(agentMessageEntry(9, "later"));
  await waitForRequests();
  release({ entries: [agentMessageEntry(1, "earlier")], next: null });
  await waitForRequests();
  expect(timeline.agentCheckpoints.at(9).conversation).toMatchObject([{ text: "earlier" }, { text: "later" }]);
  expect(timeline.store.get().agent.conversation).toMatchObject([{ text: "earlier" }, { text: "later" }]);
  expect(timeline.get().marks.map((mark) => mark.seq)).toEqual([1, 9]);
});

test("a live trace whose newest state cannot be loaded is not followed, and can be retried", async () => {
  const server = serveTrace(3, [], false);
  const found = server.routes[`${attemptPath}/at`];
  const timeline = new Timeline(liveTrace, createStore());
  server.routes[`${attemptPath}/at`] = () => problemResponse(503, "busy", "the server is busy");
  timeline.begin(() => undefined);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ mode: "still", problem: "the server is busy" });
  if (found) server.routes[`${attemptPath}/at`] = found;
  timeline.follow();
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ mode: "live", seq: 3, problem: null });
});

test("a lost connection is reported and resumed after the last received entry", async () => {
  serveTrace(3, [], false);
  const timeline = new Timeline(liveTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  const first = FakeSocket.newest();
  first.open();
  first.send(cellCreatedEntry(4));
  first.end(1006);
  await vi.advanceTimersByTimeAsync(20);
  expect(timeline.get().problem).toContain("lost");
  await vi.advanceTimersByTimeAsync(300);
  const second = FakeSocket.newest();
  expect(second).not.toBe(first);
  expect(second.url).toContain("from=5");
  second.open();
  expect(timeline.get().problem).toBeNull();
});

test("moving back stops following, and disposing leaves no connection open", async () => {
  serveTrace(3, [], false);
  const timeline = new Timeline(liveTrace, createStore());
  timeline.begin(() => undefined);
  await waitForRequests();
  const socket = FakeSocket.newest();
  timeline.goTo(1);
  expect(socket.closed).toBe(true);
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ seq: 1, mode: "still" });
  timeline.follow();
  await waitForRequests();
  expect(timeline.get()).toMatchObject({ mode: "live", seq: 3 });
  timeline.dispose();
  expect(FakeSocket.newest().closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([[null], [[]], [{ seq: "1", cells: 7, runs: "x" }], [{ end: {}, complete: "yes" }]])(
  "a malformed state does not break the timeline: %j",
  async (state) => {
    fakeServer({
      [`${attemptPath}/at`]: () => state,
      [`${attemptPath}/trace`]: () => ({ entries: [null, 4, {}, { seq: 1, hop: 2 }], next: "x" }),
    });
    const timeline = new Timeline(endedTrace, createStore());
    timeline.begin(() => undefined);
    await waitForRequests();
    expect(timeline.get().isLoading).toBe(false);
  },
);
