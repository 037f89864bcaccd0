import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Entry } from "../protocol/messages";
import { createStore, type Store } from "../store/store";
import { Inbox } from "./inbox";

let inboxStore: Store;
let inbox: Inbox;
let appliedSeqs: number[];

beforeEach(() => {
  vi.useFakeTimers();
  inboxStore = createStore();
  inbox = new Inbox(inboxStore);
  appliedSeqs = [];
  const apply = inboxStore.apply;
  vi.spyOn(inboxStore, "apply").mockImplementation((entries) => {
    appliedSeqs.push(entries.length);
    apply(entries);
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const stdioEntry = (seq: number, data: string, stream = "stdout", active_cell = "a"): Entry => ({
  seq,
  hop: "kernel>server",
  msg: { type: "kernel_stdio", active_cell, stream, data },
});
const printedTextOfCell = (id: string) => {
  const output = inboxStore.get().notebook.executions[id]?.outputs[0];
  return output !== undefined && "text" in output ? output.text : "";
};

it("applies the messages since the last frame as one change, with text joined", async () => {
  for (let i = 1; i <= 1000; i++) inbox.add({ entry: stdioEntry(i, `${i} `) });
  expect(appliedSeqs).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(appliedSeqs).toEqual([1]);
  expect(String(printedTextOfCell("a")).startsWith("1 2 3 ")).toBe(true);
  expect(inboxStore.get().notebook.seq).toBe(1000);
});

it("does not join text of different cells or streams", async () => {
  inbox.add({ entry: stdioEntry(1, "1") });
  inbox.add({ entry: stdioEntry(2, "2", "stderr") });
  inbox.add({ entry: stdioEntry(3, "3", "stderr", "b") });
  await vi.advanceTimersByTimeAsync(20);
  expect(appliedSeqs).toEqual([3]);
});

it("limits the time of a turn and goes on in the next one", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 3; // each look at the clock, once per change, takes 3 ms
    return now;
  });
  for (let i = 1; i <= 5000; i++) inbox.add({ entry: stdioEntry(i, "x", "stdout", `c${i % 7}`) });
  await vi.advanceTimersByTimeAsync(17);
  const first = appliedSeqs.length;
  expect(first).toBeLessThan(5);
  await vi.advanceTimersByTimeAsync(500);
  expect(appliedSeqs.reduce((sum, count) => sum + count, 0)).toBe(5000);
  expect(appliedSeqs.length).toBeGreaterThan(first);
});

it("limits how much waits, even if the page is not rendered", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1);
  for (let i = 1; i <= 40; i++) inbox.add({ entry: stdioEntry(i, "x".repeat(1 << 18)) });
  expect(appliedSeqs.length).toBeGreaterThan(0);
  vi.unstubAllGlobals();
});

it("runs callbacks between entries in order", async () => {
  const seen: unknown[] = [];
  inbox.add({ entry: stdioEntry(1, "a") });
  inbox.add({ run: () => seen.push(printedTextOfCell("a")) });
  inbox.add({ entry: stdioEntry(2, "b") });
  inbox.add({ run: () => seen.push(printedTextOfCell("a")) });
  await vi.advanceTimersByTimeAsync(20);
  expect(seen).toEqual(["a", "ab"]);
});

it("counts from the start again with another notebook", async () => {
  inbox.add({ entry: stdioEntry(9, "old") });
  const runs = {
    cell_status: {},
    cell_sequencers: {},
    cell_outputs: {},
    run_queue: [],
    cell_widgets: {},
    cell_counts: {},
    cell_durations: {},
  };
  inbox.add({ state: { seq: 1, cells: [], runs } });
  inbox.add({ entry: stdioEntry(2, "new ") });
  inbox.add({ entry: stdioEntry(3, "text") });
  await vi.advanceTimersByTimeAsync(20);
  expect(printedTextOfCell("a")).toBe("new text");
});
