import { afterEach, beforeEach, expect, it, vi } from "vitest";

// Each page imports the module anew; the channel connects them as the browser's does.
class FakeBroadcastChannel {
  static all: FakeBroadcastChannel[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor() {
    FakeBroadcastChannel.all.push(this);
  }

  postMessage(data: unknown): void {
    for (const other of FakeBroadcastChannel.all) if (other !== this) other.onmessage?.({ data });
  }
}

/** The stored connection number of a console that has never connected. */
const noConnectionNumber = { index: 0, trace: "" };

let navigationType = "navigate";

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
  FakeBroadcastChannel.all = [];
  navigationType = "navigate";
  vi.stubGlobal("BroadcastChannel", FakeBroadcastChannel);
  vi.spyOn(performance, "getEntriesByType").mockImplementation(() => [
    { type: navigationType } as unknown as PerformanceEntry,
  ]);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function openPageWithConsoleId() {
  vi.resetModules();
  const identity = await import("./consoleIdentity");
  const id = identity.getConsoleId();
  await vi.advanceTimersByTimeAsync(1000);
  return { ...identity, id: await id };
}

it("stays the same when the page is reloaded, and keeps its connection number", async () => {
  const first = await openPageWithConsoleId();
  first.saveConnectionNumber("s", { index: 4, trace: "t" });
  navigationType = "reload";
  const second = await openPageWithConsoleId();
  expect(second.id).toBe(first.id);
  expect(second.loadConnectionNumber("s")).toEqual({ index: 4, trace: "t" });
});

it("stays the same when no other page has the id", async () => {
  const first = await openPageWithConsoleId();
  FakeBroadcastChannel.all = [];
  expect((await openPageWithConsoleId()).id).toBe(first.id);
});

it("is another one in a duplicated tab, which has no connection number", async () => {
  const first = await openPageWithConsoleId();
  first.saveConnectionNumber("s", { index: 4, trace: "t" });
  const second = await openPageWithConsoleId();
  expect(second.id).not.toBe(first.id);
  expect(second.loadConnectionNumber("s")).toEqual(noConnectionNumber);
});

it("is created anew if the stored value is no id", async () => {
  sessionStorage.setItem("assay.console", "x");
  expect((await openPageWithConsoleId()).id).toBeGreaterThan(0);
});

it("is created where the browser forbids storage and channels", async () => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  vi.stubGlobal("sessionStorage", { getItem: forbidden, setItem: forbidden });
  vi.stubGlobal("BroadcastChannel", forbidden);
  const first = await openPageWithConsoleId();
  expect(first.id).toBeGreaterThan(0);
  first.saveConnectionNumber("s", { index: 4, trace: "t" });
  expect(first.loadConnectionNumber("s")).toEqual(noConnectionNumber);
});
