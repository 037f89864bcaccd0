import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FakeServer, fakeServer } from "../api/fakeServer";
import { FakeTrace } from "./fakeTrace";
import { noFilters } from "./filters";
import { FlowModel } from "./flowModel";
import { findFirstRow, findOddRow } from "./scanRows";

const sessionPath = "/api/sessions/s";
let fakeTrace: FakeTrace;
let apiServer: FakeServer;
let flowModel: FlowModel;

function serveTrace(length: number): void {
  fakeTrace = new FakeTrace(length);
  apiServer = fakeServer({ [`${sessionPath}/flow`]: fakeTrace.flow });
  flowModel = new FlowModel(sessionPath);
}

const waitForRequests = () => vi.advanceTimersByTimeAsync(200);
const requestedSkipParameters = () => apiServer.requests.map((url) => url.searchParams.get("skip"));
const sessionHopFilters = { ...noFilters, hop: "session" };

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  flowModel.dispose();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("only the pages around the visible rows are requested", async () => {
  serveTrace(100_000);
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  expect(requestedSkipParameters()).toEqual(["0"]);
  expect(flowModel.get()).toMatchObject({ count: 100_000, end: 100_000, complete: true, problem: null });
  flowModel.setVisibleRows(50_450, 50_480);
  await waitForRequests();
  expect(requestedSkipParameters()).toEqual(["0", "50000", "50500"]);
  expect(flowModel.entryAt(50_460)?.seq).toBe(50_461);
  expect(flowModel.entryAt(20_000)).toBeNull();
  flowModel.setVisibleRows(50_450, 50_480);
  await waitForRequests();
  expect(requestedSkipParameters()).toHaveLength(3);
});

test("requests for pages scrolled past are cancelled and repeated on return", async () => {
  serveTrace(100_000);
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  const signals: AbortSignal[] = [];
  const answer = globalThis.fetch;
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (init.signal) signals.push(init.signal);
    await new Promise((go) => setTimeout(go, 100));
    return answer(path, init);
  });
  flowModel.setVisibleRows(10_200, 10_230);
  flowModel.setVisibleRows(90_200, 90_230);
  await vi.advanceTimersByTimeAsync(60);
  flowModel.setVisibleRows(10_200, 10_230);
  await waitForRequests();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
  expect(flowModel.entryAt(10_210)?.seq).toBe(10_211);
  expect(flowModel.entryAt(90_210)).toBeNull();
});

test("dragging sends at most 25 requests a second", async () => {
  serveTrace(100_000);
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  apiServer.requests.length = 0;
  for (let i = 0; i < 100; i++) {
    flowModel.setVisibleRows(i * 1000, i * 1000 + 30);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(apiServer.requests.length).toBeLessThanOrEqual(52); // two pages at most each time
  await waitForRequests();
  expect(flowModel.entryAt(99_010)?.seq).toBe(99_011);
});

test("the least recently viewed page is evicted", async () => {
  serveTrace(100_000);
  for (let page = 0; page < 60; page++) {
    flowModel.setVisibleRows(page * 500 + 200, page * 500 + 230);
    await waitForRequests();
  }
  expect(flowModel.entryAt(200)).toBeNull();
  expect(flowModel.entryAt(59 * 500 + 200)?.seq).toBe(59 * 500 + 201);
  expect(flowModel.entryAt(25 * 500 + 200)?.seq).toBe(25 * 500 + 201);
});

test("only added entries are requested, and requests are updated", async () => {
  serveTrace(20);
  fakeTrace.complete = false;
  fakeTrace.overrides.set(20, { requests: [20] });
  fakeTrace.requests = { "20": { state: "unanswered", seqs: [20, 0, 0, 0, 0] } };
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  expect(flowModel.requestAt(19, 20)?.state).toBe("unanswered");
  fakeTrace.length = 25;
  fakeTrace.requests = { "20": { state: "answered", seqs: [20, 0, 0, 24, 0] }, "9999": { state: "answered" } };
  await flowModel.loadAdded();
  expect(apiServer.requests.at(-1)?.searchParams.get("from")).toBe("21");
  expect(apiServer.requests).toHaveLength(2);
  expect(flowModel.get().count).toBe(25);
  expect(flowModel.entryAt(24)?.seq).toBe(25);
  expect(flowModel.requestAt(19, 20)?.state).toBe("answered");
  expect(flowModel.requests()).toHaveLength(1);
});

test("added entries are available at once, also across page ends", async () => {
  serveTrace(498);
  flowModel.setVisibleRows(470, 497);
  await waitForRequests();
  fakeTrace.length = 1705;
  await flowModel.loadAdded();
  expect([499, 500, 1234, 1704].map((row) => flowModel.entryAt(row)?.seq)).toEqual([500, 501, 1235, 1705]);
  flowModel.setVisibleRows(1690, 1704);
  await waitForRequests();
  expect(apiServer.requests).toHaveLength(2);
});

test("entries added far from loaded pages leave no page without its beginning", async () => {
  serveTrace(5_000);
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  fakeTrace.length = 5_600;
  await flowModel.loadAdded();
  expect(flowModel.entryAt(5_599)?.seq).toBe(5_600);
  fakeTrace.length = 5_700;
  flowModel.setFilters(sessionHopFilters);
  await waitForRequests();
  flowModel.setFilters(noFilters);
  await waitForRequests();
  fakeTrace.length = 5_710;
  await flowModel.loadAdded();
  expect(flowModel.entryAt(5_705)).toBeNull();
  flowModel.setVisibleRows(5_690, 5_709);
  await waitForRequests();
  expect(flowModel.entryAt(5_705)?.seq).toBe(5_706);
});

test("after many added entries the visible pages are requested again", async () => {
  serveTrace(600);
  flowModel.setVisibleRows(0, 20);
  await waitForRequests();
  fakeTrace.length = 9000;
  fakeTrace.overrides.set(3, { note: "late" });
  await flowModel.loadAdded();
  await waitForRequests();
  expect(flowModel.get().count).toBe(9000);
  expect(flowModel.entryAt(2)?.note).toBe("late");
});

test("requests for added entries run one at a time, and waiting ones are combined", async () => {
  serveTrace(20);
  flowModel.setVisibleRows(0, 20);
  await waitForRequests();
  apiServer.requests.length = 0;
  fakeTrace.length = 21;
  const all = [flowModel.loadAdded(), flowModel.loadAdded(), flowModel.loadAdded(), flowModel.loadAdded()];
  await Promise.all(all);
  await waitForRequests();
  expect(apiServer.requests).toHaveLength(2);
});

test("a shorter trace is treated as a new trace", async () => {
  serveTrace(300);
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  fakeTrace.length = 12;
  fakeTrace.overrides.set(1, { type: "state" });
  await flowModel.loadAdded();
  await waitForRequests();
  expect(flowModel.get().count).toBe(12);
  expect(flowModel.entryAt(0)?.type).toBe("state");
  expect(flowModel.entryAt(100)).toBeNull();
});

test("with filters the rows are the matching entries, and growth reloads them all", async () => {
  serveTrace(6000);
  flowModel.setFilters(sessionHopFilters);
  await waitForRequests();
  expect(apiServer.requests.at(-1)?.searchParams.get("hop")).toBe("session");
  expect(flowModel.get()).toMatchObject({ count: 600, end: 6000 });
  expect(flowModel.entryAt(4)?.seq).toBe(50);
  fakeTrace.length = 6020;
  fakeTrace.overrides.set(50, { note: "late" });
  await flowModel.loadAdded();
  await waitForRequests();
  expect(flowModel.get()).toMatchObject({ count: 602, end: 6020 });
  expect(flowModel.entryAt(4)?.note).toBe("late");
});

test("a failed request is reported and repeated only on retry", async () => {
  serveTrace(1000);
  fakeTrace.isBroken = true;
  flowModel.setVisibleRows(0, 30);
  await waitForRequests();
  expect(flowModel.get().problem?.message).toBe("the trace is damaged");
  flowModel.setVisibleRows(0, 31);
  await waitForRequests();
  expect(apiServer.requests).toHaveLength(1);
  fakeTrace.isBroken = false;
  flowModel.retry();
  await waitForRequests();
  expect(flowModel.get()).toMatchObject({ problem: null, count: 1000 });
});

test("a response with fewer rows than its count does not cause endless requests", async () => {
  serveTrace(1000);
  apiServer = fakeServer({ [`${sessionPath}/flow`]: () => ({ entries: [null, { seq: 1 }], end: 1000, next: null }) });
  for (let i = 0; i < 20; i++) {
    flowModel.setVisibleRows(0, 30);
    await waitForRequests();
  }
  expect(apiServer.requests).toHaveLength(1);
});

test("the search finds the next problem at any distance in both directions", async () => {
  serveTrace(12_000);
  fakeTrace.overrides.set(11_003, { note: "dropped" });
  fakeTrace.overrides.set(3, { note: "tamper" });
  const { signal } = new AbortController();
  expect(await findOddRow(sessionPath, noFilters, 2, 1, signal)).toBe(11_002);
  expect(await findOddRow(sessionPath, noFilters, 11_002, -1, signal)).toBe(2);
  expect(await findOddRow(sessionPath, noFilters, 2, -1, signal)).toBeNull();
  expect(await findOddRow(sessionPath, noFilters, 0, -1, signal)).toBeNull();
  expect(await findOddRow(sessionPath, noFilters, 11_002, 1, signal)).toBeNull();
  expect(await findOddRow(sessionPath, noFilters, 11_999, 1, signal)).toBeNull();
});

test("a time is found by binary search", async () => {
  serveTrace(100_000);
  const { signal } = new AbortController();
  const at = await findFirstRow(sessionPath, noFilters, ({ ms }) => ms >= 70_000.5, signal);
  expect(at?.entry.seq).toBe(70_001);
  expect(apiServer.requests.length).toBeLessThan(20);
  expect((await findFirstRow(sessionPath, noFilters, ({ ms }) => ms > 1e12, signal))?.row).toBe(99_999);
  serveTrace(0);
  expect(await findFirstRow(sessionPath, noFilters, () => true, signal)).toBeNull();
});
