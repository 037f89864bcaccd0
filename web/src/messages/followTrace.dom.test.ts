import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../api/fakeSocket";
import { followTrace } from "./followTrace";

const growthEventSpies = { onGrowth: vi.fn(), onEnd: vi.fn(), onLost: vi.fn() };
let nextSeq = 5;
let stopFollowing: () => void = () => undefined;

function startFollowing(): FakeSocket {
  stopFollowing = followTrace("/watch?session=s", () => nextSeq, growthEventSpies);
  return FakeSocket.newest();
}

function setPageVisibility(state: DocumentVisibilityState): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
  nextSeq = 5;
  for (const f of Object.values(growthEventSpies)) f.mockClear();
});
afterEach(() => {
  stopFollowing();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("requests entries without their messages, from the first unknown one", () => {
  const { searchParams } = new URL(startFollowing().url);
  expect([searchParams.get("session"), searchParams.get("bodies"), searchParams.get("from")]).toEqual([
    "s",
    "false",
    "5",
  ]);
});

test("growth is reported at most four times a second", async () => {
  const socket = startFollowing();
  for (let seq = 5; seq < 1005; seq++) {
    socket.send({ seq, hop: "session", type: "state" });
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(500);
  expect(growthEventSpies.onGrowth.mock.calls.length).toBeGreaterThanOrEqual(3);
  expect(growthEventSpies.onGrowth.mock.calls.length).toBeLessThanOrEqual(5);
});

test("messages before the first new entry are not reported as growth", async () => {
  const socket = startFollowing();
  socket.send({ type: "trace", version: 1 });
  await vi.advanceTimersByTimeAsync(1000);
  expect(growthEventSpies.onGrowth).not.toHaveBeenCalled();
});

test("a lost connection is reported and reopened", async () => {
  const socket = startFollowing();
  socket.open();
  socket.end(1006);
  expect(growthEventSpies.onLost).toHaveBeenLastCalledWith(expect.stringMatching(/lost/));
  await vi.advanceTimersByTimeAsync(1000);
  expect(FakeSocket.newest()).not.toBe(socket);
  FakeSocket.newest().open();
  expect(growthEventSpies.onLost).toHaveBeenLastCalledWith(null);
});

test("a hidden page does not follow the trace", async () => {
  const socket = startFollowing();
  setPageVisibility("hidden");
  expect(socket.closed).toBe(true);
  nextSeq = 90;
  setPageVisibility("visible");
  expect(FakeSocket.newest()).not.toBe(socket);
  expect(FakeSocket.newest().url).toContain("from=90");
});

test("the end of the trace is reported once, after its last growth, and stops following", () => {
  const socket = startFollowing();
  socket.end(1000);
  expect(growthEventSpies.onEnd).toHaveBeenCalledTimes(1);
  expect(growthEventSpies.onGrowth).toHaveBeenCalledTimes(1);
  setPageVisibility("hidden");
  setPageVisibility("visible");
  expect(FakeSocket.newest()).toBe(socket);
});

test("no event is reported after stop", async () => {
  const socket = startFollowing();
  socket.send({ seq: 5, hop: "session" });
  stopFollowing();
  await vi.advanceTimersByTimeAsync(1000);
  expect(socket.closed).toBe(true);
  expect(growthEventSpies.onGrowth).not.toHaveBeenCalled();
});
