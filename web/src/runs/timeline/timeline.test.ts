import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer, problem } from "../../api/fakeServer";
import { FakeSocket } from "../../api/fakeSocket";
import { createStore } from "../../store/store";
import { Timeline } from "./timeline";

const base = "/api/runs/r/attempts/a";
const live = { base, watch: "/watch?run=r&attempt=a" };
const over = { base, watch: null };

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

function cell(id: string) {
  return { cell_id: id, cell_type: "code", source: id, display_name: "", rev: 1 };
}

/** The state after entry seq, whose notebook has seq cells. */
function stateAt(seq: number, end: number, complete: boolean) {
  const cells = Array.from({ length: seq }, (_, i) => cell(`c${i + 1}`));
  const runs = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };
  return { type: "notebook_state", seq, t_ns: seq * 1e9, wall: "", end, complete, cells, runs };
}

/** The entry that makes the seq-th cell. */
function creation(seq: number, t = seq * 1e9) {
  const msg = { type: "notebook_event", event: "cell_created", by: "agent", cell: cell(`c${seq}`), position: seq - 1 };
  return { seq, t_ns: t, hop: "notebook", type: "notebook_event", msg };
}

function message(seq: number, text: string) {
  const entry = { type: "anthropic_message", role: "assistant", content: text };
  return {
    seq,
    t_ns: seq,
    hop: "agent>server",
    type: "agent_history_updated",
    msg: { type: "agent_history_updated", entry },
  };
}

/** A trace of as many creations, and what is said in it. */
function traceServer(end: number, said: readonly { seq: number; hop: string; type: string }[] = [], complete = true) {
  const made = Array.from({ length: end }, (_, i) => said.find(({ seq }) => seq === i + 1) ?? creation(i + 1));
  return fakeServer({
    [`${base}/at`]: (url) => stateAt(Number(url.searchParams.get("seq") ?? end), end, complete),
    [`${base}/trace`]: (url) => {
      const [types, from] = [url.searchParams.get("type"), Number(url.searchParams.get("from") ?? 1)];
      const limit = Number(url.searchParams.get("limit"));
      const all = types === null ? made : made.filter(({ type }) => types.includes(type));
      const rest = all.filter(({ seq }) => seq >= from);
      return { entries: rest.slice(0, limit), next: rest[limit]?.seq ?? null };
    },
  });
}

function askedStates(server: { requests: URL[] }): (string | null)[] {
  return server.requests.filter((url) => url.pathname === `${base}/at`).map((url) => url.searchParams.get("seq"));
}

const settle = () => vi.advanceTimersByTimeAsync(20);

test("it begins at the end, with what is to be marked and what was said", async () => {
  traceServer(3, [message(3, "hello")]);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
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

test("dragging asks for one state at a time, and the last wins", async () => {
  const server = traceServer(100);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  server.requests.length = 0;
  for (const seq of [10, 20, 30, 40]) timeline.goTo(seq);
  expect(timeline.get()).toMatchObject({ seq: 40, isLoading: true });
  await settle();
  expect(askedStates(server)).toEqual(["10", "40"]);
  expect(timeline.get()).toMatchObject({ seq: 40, isLoading: false, ms: 40_000 });
  expect(timeline.store.get().notebook.order).toHaveLength(40);
});

test("an earlier moment shows what had been said by then, and no more", async () => {
  traceServer(9, [message(2, "first"), message(6, "second")]);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  timeline.goTo(5);
  await settle();
  expect(timeline.store.get().agent.conversation).toMatchObject([{ text: "first" }]);
  timeline.goTo("end");
  await settle();
  expect(timeline.store.get().agent.conversation).toHaveLength(2);
});

test("steps go from mark to mark and stop at both ends", async () => {
  traceServer(30);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  const at: number[] = [];
  for (const by of [-1, -10, -100, 1, 10, 100]) {
    timeline.step(by);
    await settle();
    at.push(timeline.get().seq);
  }
  expect(at).toEqual([29, 19, 1, 2, 12, 30]);
});

test("a state that cannot be had is said, and the next one is asked for all the same", async () => {
  const server = traceServer(10);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  const good = globalThis.fetch;
  vi.stubGlobal("fetch", async () => problem(500, "unreadable", "the trace is damaged"));
  timeline.goTo(4);
  await settle();
  expect(timeline.get()).toMatchObject({ problem: "the trace is damaged", isLoading: false });
  vi.stubGlobal("fetch", good);
  timeline.goTo(5);
  await settle();
  expect(timeline.get()).toMatchObject({ problem: null, seq: 5 });
  expect(askedStates(server).at(-1)).toBe("5");
});

test("playing goes by the times of the trace, faster, and shortens silences", async () => {
  traceServer(6);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  timeline.goTo(1);
  await settle();
  timeline.play(4); // a second of the trace is 250 ms
  await vi.advanceTimersByTimeAsync(300);
  expect(timeline.get()).toMatchObject({ seq: 2, mode: "playing" });
  expect(timeline.store.get().notebook.order).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(500);
  expect(timeline.get().seq).toBe(4);
  await vi.advanceTimersByTimeAsync(1000);
  expect(timeline.get()).toMatchObject({ seq: 6, mode: "still" });
});

test("a silence of an hour lasts two seconds", async () => {
  const hour = 3600e9;
  fakeServer({
    [`${base}/at`]: () => stateAt(1, 2, true),
    [`${base}/trace`]: (url) => ({
      entries: [creation(1, 0), creation(2, hour)].filter(({ seq }) => seq >= Number(url.searchParams.get("from"))),
      next: null,
    }),
  });
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  timeline.play(1);
  await vi.advanceTimersByTimeAsync(1900);
  expect(timeline.get().seq).toBe(1);
  await vi.advanceTimersByTimeAsync(300);
  expect(timeline.get().seq).toBe(2);
});

test("played again at the end, it begins before the first entry", async () => {
  traceServer(2);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  timeline.play(16);
  expect(timeline.get().seq).toBe(0);
  expect(timeline.store.get().notebook.order).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(timeline.store.get().notebook.order).toEqual(["c1", "c2"]);
});

test("pausing stops it where it is", async () => {
  traceServer(50);
  const timeline = new Timeline(over, createStore());
  timeline.begin(() => undefined);
  await settle();
  timeline.goTo(1);
  await settle();
  timeline.play(1);
  await vi.advanceTimersByTimeAsync(1100);
  timeline.pause();
  const { seq } = timeline.get();
  await vi.advanceTimersByTimeAsync(5000);
  expect(timeline.get()).toMatchObject({ seq, mode: "still" });
});

test("a trace that goes on is followed from its newest state, in order, until it ends", async () => {
  traceServer(3, [], false);
  const onEnd = vi.fn();
  const timeline = new Timeline(live, createStore());
  timeline.begin(onEnd);
  await settle();
  const socket = FakeSocket.newest();
  expect(socket.url).toContain("/watch?run=r&attempt=a&from=4");
  socket.open();
  socket.send({ type: "trace", version: 1 });
  for (const entry of [creation(4), creation(4), message(5, "now"), creation(2)]) socket.send(entry);
  await settle();
  expect(timeline.get()).toMatchObject({ seq: 5, end: 5, mode: "live" });
  expect(timeline.store.get().notebook.order).toHaveLength(4);
  expect(timeline.store.get().agent.conversation).toHaveLength(1);
  expect(timeline.agentCheckpoints.at(5).conversation).toHaveLength(1);
  expect(timeline.get().marks.map((mark) => mark.seq)).toEqual([1, 2, 3, 4, 5]);
  socket.end(1000);
  await settle();
  expect(onEnd).toHaveBeenCalledOnce();
  expect(timeline.get()).toMatchObject({ mode: "still", isComplete: true });
});

test("what comes live while the past is being loaded goes behind it", async () => {
  let release: (page: object) => void = () => undefined;
  const past = new Promise<object>((resolve) => {
    release = resolve;
  });
  fakeServer({
    [`${base}/at`]: () => stateAt(1, 1, false),
    [`${base}/trace`]: (url) => (url.searchParams.has("type") ? past : { entries: [creation(1)], next: null }),
  });
  const timeline = new Timeline(live, createStore());
  timeline.begin(() => undefined);
  await settle();
  FakeSocket.newest().open();
  FakeSocket.newest().send(message(9, "later"));
  await settle();
  release({ entries: [message(1, "earlier")], next: null });
  await settle();
  expect(timeline.agentCheckpoints.at(9).conversation).toMatchObject([{ text: "earlier" }, { text: "later" }]);
  expect(timeline.store.get().agent.conversation).toMatchObject([{ text: "earlier" }, { text: "later" }]);
  expect(timeline.get().marks.map((mark) => mark.seq)).toEqual([1, 9]);
});

test("a newest state that cannot be had is not followed, and that can be asked for again", async () => {
  const server = traceServer(3, [], false);
  const found = server.routes[`${base}/at`];
  const timeline = new Timeline(live, createStore());
  server.routes[`${base}/at`] = () => problem(503, "busy", "the server is busy");
  timeline.begin(() => undefined);
  await settle();
  expect(timeline.get()).toMatchObject({ mode: "still", problem: "the server is busy" });
  if (found) server.routes[`${base}/at`] = found;
  timeline.follow();
  await settle();
  expect(timeline.get()).toMatchObject({ mode: "live", seq: 3, problem: null });
});

test("a lost connection is said, and taken up behind what has come", async () => {
  traceServer(3, [], false);
  const timeline = new Timeline(live, createStore());
  timeline.begin(() => undefined);
  await settle();
  const first = FakeSocket.newest();
  first.open();
  first.send(creation(4));
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

test("looking back leaves what is live, and an end of it all leaves nothing open", async () => {
  traceServer(3, [], false);
  const timeline = new Timeline(live, createStore());
  timeline.begin(() => undefined);
  await settle();
  const socket = FakeSocket.newest();
  timeline.goTo(1);
  expect(socket.closed).toBe(true);
  await settle();
  expect(timeline.get()).toMatchObject({ seq: 1, mode: "still" });
  timeline.follow();
  await settle();
  expect(timeline.get()).toMatchObject({ mode: "live", seq: 3 });
  timeline.dispose();
  expect(FakeSocket.newest().closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([[null], [[]], [{ seq: "1", cells: 7, runs: "x" }], [{ end: {}, complete: "yes" }]])(
  "a strange state is no fall: %j",
  async (state) => {
    fakeServer({
      [`${base}/at`]: () => state,
      [`${base}/trace`]: () => ({ entries: [null, 4, {}, { seq: 1, hop: 2 }], next: "x" }),
    });
    const timeline = new Timeline(over, createStore());
    timeline.begin(() => undefined);
    await settle();
    expect(timeline.get().isLoading).toBe(false);
  },
);
