import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../api/fakeSocket";
import { followTrace } from "./followTrace";

const heard = { onGrowth: vi.fn(), onEnd: vi.fn(), onLost: vi.fn() };
let next = 5;
let stop: () => void = () => undefined;

function follow(): FakeSocket {
  stop = followTrace("/watch?session=s", () => next, heard);
  return FakeSocket.newest();
}

function see(state: DocumentVisibilityState): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
  next = 5;
  for (const f of Object.values(heard)) f.mockClear();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("it asks for entries without what they carry, from the first that is not known", () => {
  const { searchParams } = new URL(follow().url);
  expect([searchParams.get("session"), searchParams.get("bodies"), searchParams.get("from")]).toEqual([
    "s",
    "false",
    "5",
  ]);
});

test("many entries at once are told at most four times a second", async () => {
  const socket = follow();
  for (let seq = 5; seq < 1005; seq++) {
    socket.send({ seq, hop: "session", type: "state" });
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(500);
  expect(heard.onGrowth.mock.calls.length).toBeGreaterThanOrEqual(3);
  expect(heard.onGrowth.mock.calls.length).toBeLessThanOrEqual(5);
});

test("what comes before anything was added is no growth", async () => {
  const socket = follow();
  socket.send({ type: "trace", version: 1 });
  await vi.advanceTimersByTimeAsync(1000);
  expect(heard.onGrowth).not.toHaveBeenCalled();
});

test("a connection that is lost is told, and made again", async () => {
  const socket = follow();
  socket.open();
  socket.end(1006);
  expect(heard.onLost).toHaveBeenLastCalledWith(expect.stringMatching(/lost/));
  await vi.advanceTimersByTimeAsync(1000);
  expect(FakeSocket.newest()).not.toBe(socket);
  FakeSocket.newest().open();
  expect(heard.onLost).toHaveBeenLastCalledWith(null);
});

test("while the page is not seen nothing is followed", async () => {
  const socket = follow();
  see("hidden");
  expect(socket.closed).toBe(true);
  next = 90;
  see("visible");
  expect(FakeSocket.newest()).not.toBe(socket);
  expect(FakeSocket.newest().url).toContain("from=90");
});

test("the end is told once, with a last look, and nothing is followed any more", () => {
  const socket = follow();
  socket.end(1000);
  expect(heard.onEnd).toHaveBeenCalledTimes(1);
  expect(heard.onGrowth).toHaveBeenCalledTimes(1);
  see("hidden");
  see("visible");
  expect(FakeSocket.newest()).toBe(socket);
});

test("who stops hears nothing more", async () => {
  const socket = follow();
  socket.send({ seq: 5, hop: "session" });
  stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(socket.closed).toBe(true);
  expect(heard.onGrowth).not.toHaveBeenCalled();
});
