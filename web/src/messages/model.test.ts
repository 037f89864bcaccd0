import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FakeServer, fakeServer } from "../api/fakeServer";
import { FakeTrace } from "./fakeTrace";
import { noFilters } from "./filters";
import { FlowModel } from "./flowModel";
import { findOddRow, findRow } from "./scanRows";

const base = "/api/sessions/s";
let trace: FakeTrace;
let server: FakeServer;
let model: FlowModel;

function serve(length: number): void {
  trace = new FakeTrace(length);
  server = fakeServer({ [`${base}/flow`]: trace.flow });
  model = new FlowModel(base);
}

const settle = () => vi.advanceTimersByTimeAsync(200);
const skips = () => server.requests.map((url) => url.searchParams.get("skip"));
const filtered = { ...noFilters, hop: "session" };

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  model.dispose();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("only the pages around what is seen are asked for", async () => {
  serve(100_000);
  model.setVisibleRows(0, 30);
  await settle();
  expect(skips()).toEqual(["0"]);
  expect(model.get()).toMatchObject({ count: 100_000, end: 100_000, complete: true, problem: null });
  model.setVisibleRows(50_450, 50_480);
  await settle();
  expect(skips()).toEqual(["0", "50000", "50500"]);
  expect(model.entryAt(50_460)?.seq).toBe(50_461);
  expect(model.entryAt(20_000)).toBeNull();
  model.setVisibleRows(50_450, 50_480);
  await settle();
  expect(skips()).toHaveLength(3);
});

test("pages that one scrolls past are given up, and asked for again when one comes back", async () => {
  serve(100_000);
  model.setVisibleRows(0, 30);
  await settle();
  const signals: AbortSignal[] = [];
  const answer = globalThis.fetch;
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (init.signal) signals.push(init.signal);
    await new Promise((go) => setTimeout(go, 100));
    return answer(path, init);
  });
  model.setVisibleRows(10_200, 10_230);
  model.setVisibleRows(90_200, 90_230);
  await vi.advanceTimersByTimeAsync(60);
  model.setVisibleRows(10_200, 10_230);
  await settle();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(model.entryAt(10_210)?.seq).toBe(10_211);
  expect(model.entryAt(90_210)).toBeNull();
});

test("while one drags, no more is asked than 25 times a second", async () => {
  serve(100_000);
  model.setVisibleRows(0, 30);
  await settle();
  server.requests.length = 0;
  for (let i = 0; i < 100; i++) {
    model.setVisibleRows(i * 1000, i * 1000 + 30);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(server.requests.length).toBeLessThanOrEqual(52); // two pages at most each time
  await settle();
  expect(model.entryAt(99_010)?.seq).toBe(99_011);
});

test("of many pages the one that was not looked at for longest is let go", async () => {
  serve(100_000);
  for (let page = 0; page < 60; page++) {
    model.setVisibleRows(page * 500 + 200, page * 500 + 230);
    await settle();
  }
  expect(model.entryAt(200)).toBeNull();
  expect(model.entryAt(59 * 500 + 200)?.seq).toBe(59 * 500 + 201);
  expect(model.entryAt(25 * 500 + 200)?.seq).toBe(25 * 500 + 201);
});

test("what is added is asked for alone, and requests become what they are now", async () => {
  serve(20);
  trace.complete = false;
  trace.overrides.set(20, { requests: [20] });
  trace.requests = { "20": { state: "unanswered", seqs: [20, 0, 0, 0, 0] } };
  model.setVisibleRows(0, 30);
  await settle();
  expect(model.requestAt(19, 20)?.state).toBe("unanswered");
  trace.length = 25;
  trace.requests = { "20": { state: "answered", seqs: [20, 0, 0, 24, 0] }, "9999": { state: "answered" } };
  await model.loadAdded();
  expect(server.requests.at(-1)?.searchParams.get("from")).toBe("21");
  expect(server.requests).toHaveLength(2);
  expect(model.get().count).toBe(25);
  expect(model.entryAt(24)?.seq).toBe(25);
  expect(model.requestAt(19, 20)?.state).toBe("answered");
  expect(model.requests()).toHaveLength(1);
});

test("what is added is there at once, over the ends of pages too", async () => {
  serve(498);
  model.setVisibleRows(470, 497);
  await settle();
  trace.length = 1705;
  await model.loadAdded();
  expect([499, 500, 1234, 1704].map((row) => model.entryAt(row)?.seq)).toEqual([500, 501, 1235, 1705]);
  model.setVisibleRows(1690, 1704);
  await settle();
  expect(server.requests).toHaveLength(2);
});

test("what is added far from what is known leaves no page that begins in its middle", async () => {
  serve(5_000);
  model.setVisibleRows(0, 30);
  await settle();
  trace.length = 5_600;
  await model.loadAdded();
  expect(model.entryAt(5_599)?.seq).toBe(5_600);
  trace.length = 5_700;
  model.setFilters(filtered);
  await settle();
  model.setFilters(noFilters);
  await settle();
  trace.length = 5_710;
  await model.loadAdded();
  expect(model.entryAt(5_705)).toBeNull();
  model.setVisibleRows(5_690, 5_709);
  await settle();
  expect(model.entryAt(5_705)?.seq).toBe(5_706);
});

test("when much has been added, all that is seen is asked for again", async () => {
  serve(600);
  model.setVisibleRows(0, 20);
  await settle();
  trace.length = 9000;
  trace.overrides.set(3, { note: "late" });
  await model.loadAdded();
  await settle();
  expect(model.get().count).toBe(9000);
  expect(model.entryAt(2)?.note).toBe("late");
});

test("questions for what is added go one after the other, and two that wait are one", async () => {
  serve(20);
  model.setVisibleRows(0, 20);
  await settle();
  server.requests.length = 0;
  trace.length = 21;
  const all = [model.loadAdded(), model.loadAdded(), model.loadAdded(), model.loadAdded()];
  await Promise.all(all);
  await settle();
  expect(server.requests).toHaveLength(2);
});

test("a shorter trace is another one", async () => {
  serve(300);
  model.setVisibleRows(0, 30);
  await settle();
  trace.length = 12;
  trace.overrides.set(1, { type: "state" });
  await model.loadAdded();
  await settle();
  expect(model.get().count).toBe(12);
  expect(model.entryAt(0)?.type).toBe("state");
  expect(model.entryAt(100)).toBeNull();
});

test("with filters rows are those that are picked, and all of them may have changed", async () => {
  serve(6000);
  model.setFilters(filtered);
  await settle();
  expect(server.requests.at(-1)?.searchParams.get("hop")).toBe("session");
  expect(model.get()).toMatchObject({ count: 600, end: 6000 });
  expect(model.entryAt(4)?.seq).toBe(50);
  trace.length = 6020;
  trace.overrides.set(50, { note: "late" });
  await model.loadAdded();
  await settle();
  expect(model.get()).toMatchObject({ count: 602, end: 6020 });
  expect(model.entryAt(4)?.note).toBe("late");
});

test("a problem is told and not asked about again until somebody wants it", async () => {
  serve(1000);
  trace.isBroken = true;
  model.setVisibleRows(0, 30);
  await settle();
  expect(model.get().problem?.message).toBe("the trace is damaged");
  model.setVisibleRows(0, 31);
  await settle();
  expect(server.requests).toHaveLength(1);
  trace.isBroken = false;
  model.retry();
  await settle();
  expect(model.get()).toMatchObject({ problem: null, count: 1000 });
});

test("an answer with fewer rows than it counts is not asked for for ever", async () => {
  serve(1000);
  server = fakeServer({ [`${base}/flow`]: () => ({ entries: [null, { seq: 1 }], end: 1000, next: null }) });
  for (let i = 0; i < 20; i++) {
    model.setVisibleRows(0, 30);
    await settle();
  }
  expect(server.requests).toHaveLength(1);
});

test("the next odd entry is found however far it is, both ways", async () => {
  serve(12_000);
  trace.overrides.set(11_003, { note: "dropped" });
  trace.overrides.set(3, { note: "tamper" });
  const { signal } = new AbortController();
  expect(await findOddRow(base, noFilters, 2, 1, signal)).toBe(11_002);
  expect(await findOddRow(base, noFilters, 11_002, -1, signal)).toBe(2);
  expect(await findOddRow(base, noFilters, 2, -1, signal)).toBeNull();
  expect(await findOddRow(base, noFilters, 0, -1, signal)).toBeNull();
  expect(await findOddRow(base, noFilters, 11_002, 1, signal)).toBeNull();
  expect(await findOddRow(base, noFilters, 11_999, 1, signal)).toBeNull();
});

test("a time is found by halves", async () => {
  serve(100_000);
  const { signal } = new AbortController();
  const at = await findRow(base, noFilters, ({ ms }) => ms >= 70_000.5, signal);
  expect(at?.entry.seq).toBe(70_001);
  expect(server.requests.length).toBeLessThan(20);
  expect((await findRow(base, noFilters, ({ ms }) => ms > 1e12, signal))?.row).toBe(99_999);
  serve(0);
  expect(await findRow(base, noFilters, () => true, signal)).toBeNull();
});
