import { expect, test } from "vitest";
import { cell, run, stateOf } from "./fakeNotebook";
import { promptOf, statusOf } from "./status";

test("a cell says how it stands, in brackets and in words", () => {
  const cells = ["fresh", "running", "waiting", "sent", "ran", "failed", "stopped"].map((id) => cell(id));
  const state = stateOf(cells, {
    queue: ["other", "waiting"],
    executions: {
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

test("an interrupted run is told from a failed one", () => {
  const error = (ename: string) => ({ output_type: "error" as const, ename, evalue: "", traceback: [] });
  const state = stateOf([cell("a"), cell("b"), cell("c")], {
    executions: {
      a: run({ status: "error", outputs: [error("KeyboardInterrupt")] }),
      b: run({ status: "error", outputs: [error("ValueError")] }),
      c: run({ status: "error", interrupted: true }),
    },
  });
  expect(["a", "b", "c"].map((id) => statusOf(state, id))).toEqual(["interrupted", "failed", "interrupted"]);
});
