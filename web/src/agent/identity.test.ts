import { afterEach, beforeEach, expect, it, vi } from "vitest";

// Each page is a module of its own; the channel joins them, as the browser's does.
class FakeChannel {
  static all: FakeChannel[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor() {
    FakeChannel.all.push(this);
  }

  postMessage(data: unknown): void {
    for (const other of FakeChannel.all) if (other !== this) other.onmessage?.({ data });
  }
}

/** What a console was given that has come to none. */
const nothing = { index: 0, trace: "" };

let navigation = "navigate";

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
  FakeChannel.all = [];
  navigation = "navigate";
  vi.stubGlobal("BroadcastChannel", FakeChannel);
  vi.spyOn(performance, "getEntriesByType").mockImplementation(() => [
    { type: navigation } as unknown as PerformanceEntry,
  ]);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function page() {
  vi.resetModules();
  const identity = await import("./identity");
  const id = identity.consoleId();
  await vi.advanceTimersByTimeAsync(1000);
  return { ...identity, id: await id };
}

it("stays the same when the page is loaded again, with its connection", async () => {
  const first = await page();
  first.keepGiven("s", { index: 4, trace: "t" });
  navigation = "reload";
  const second = await page();
  expect(second.id).toBe(first.id);
  expect(second.lastGiven("s")).toEqual({ index: 4, trace: "t" });
});

it("stays the same when nobody else has it", async () => {
  const first = await page();
  FakeChannel.all = [];
  expect((await page()).id).toBe(first.id);
});

it("is another in a tab that was duplicated, which has no connection yet", async () => {
  const first = await page();
  first.keepGiven("s", { index: 4, trace: "t" });
  const second = await page();
  expect(second.id).not.toBe(first.id);
  expect(second.lastGiven("s")).toEqual(nothing);
});

it("is made up anew where what is stored is no id", async () => {
  sessionStorage.setItem("assay.console", "x");
  expect((await page()).id).toBeGreaterThan(0);
});

it("is made up where the browser forbids to store and to ask", async () => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  vi.stubGlobal("sessionStorage", { getItem: forbidden, setItem: forbidden });
  vi.stubGlobal("BroadcastChannel", forbidden);
  const first = await page();
  expect(first.id).toBeGreaterThan(0);
  first.keepGiven("s", { index: 4, trace: "t" });
  expect(first.lastGiven("s")).toEqual(nothing);
});
