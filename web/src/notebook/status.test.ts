import { expect, test } from "vitest";
import { cell, run, stateOf } from "./fakeNotebook";
import { durationText, promptOf, statusOf } from "./status";

test("a cell says how it stands, in brackets and in words", () => {
  const cells = ["fresh", "running", "waiting", "sent", "ran", "failed", "stopped"].map((id) => cell(id));
  const state = stateOf(cells, {
    queue: ["other", "waiting"],
    runs: {
      running: run({ status: "running", started: true, count: 4 }),
      waiting: run({ status: "running", pending: true, count: 4 }),
      sent: run({ status: "running", pending: true, count: 0 }),
      ran: run({ count: 3 }),
      failed: run({ status: "error", count: 12 }),
      stopped: run({ status: "idle", count: 2 }),
    },
  });
  const shown = cells.map(({ id }) => `${promptOf(state, id)} ${statusOf(state, id)}`);
  expect(shown).toEqual(["  fresh", "* running", "…2 waiting", "… waiting", "3 ran", "12 failed", "2 fresh"]);
});

test("a time is short", () => {
  expect([0, 12.4, 999.4, 999.6, 1249, 59_949, 60_000, 125_000, 3_720_000].map(durationText)).toEqual([
    "0 ms",
    "12 ms",
    "999 ms",
    "1.0 s",
    "1.2 s",
    "59.9 s",
    "1 min 0 s",
    "2 min 5 s",
    "1 h 2 min",
  ]);
  expect([Number.NaN, -1, Number.POSITIVE_INFINITY].map(durationText)).toEqual(["", "", ""]);
});

test("an interrupted run is told from a failed one", () => {
  const error = (ename: string) => ({ output_type: "error" as const, ename, evalue: "", traceback: [] });
  const state = stateOf([cell("a"), cell("b"), cell("c")], {
    runs: {
      a: run({ status: "error", outputs: [error("KeyboardInterrupt")] }),
      b: run({ status: "error", outputs: [error("ValueError")] }),
      c: run({ status: "error", interrupted: true }),
    },
  });
  expect(["a", "b", "c"].map((id) => statusOf(state, id))).toEqual(["interrupted", "failed", "interrupted"]);
});
