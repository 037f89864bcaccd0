import { expect, test } from "vitest";
import { fakeCell, fakeExecution, stateOfCells } from "./fakeNotebook";
import { executionPrompt, statusOfCell } from "./status";

test("status and prompt of a cell in each state", () => {
  const cells = ["fresh", "running", "waiting", "sent", "ran", "failed", "stopped"].map((id) => fakeCell(id));
  const state = stateOfCells(cells, {
    queue: ["other", "waiting"],
    executions: {
      running: fakeExecution({ status: "running", started: true, count: 4 }),
      waiting: fakeExecution({ status: "running", pending: true, count: 4 }),
      sent: fakeExecution({ status: "running", pending: true, count: 0 }),
      ran: fakeExecution({ count: 3 }),
      failed: fakeExecution({ status: "error", count: 12 }),
      stopped: fakeExecution({ status: "idle", count: 2 }),
    },
  });
  const shown = cells.map(({ id }) => `${executionPrompt(state, id)} ${statusOfCell(state, id)}`);
  expect(shown).toEqual(["  fresh", "* running", "…2 waiting", "… waiting", "3 ran", "12 failed", "2 fresh"]);
});

test("an interrupted run is distinguished from a failed one", () => {
  const error = (ename: string) => ({ output_type: "error" as const, ename, evalue: "", traceback: [] });
  const state = stateOfCells([fakeCell("a"), fakeCell("b"), fakeCell("c")], {
    executions: {
      a: fakeExecution({ status: "error", outputs: [error("KeyboardInterrupt")] }),
      b: fakeExecution({ status: "error", outputs: [error("ValueError")] }),
      c: fakeExecution({ status: "error", interrupted: true }),
    },
  });
  expect(["a", "b", "c"].map((id) => statusOfCell(state, id))).toEqual(["interrupted", "failed", "interrupted"]);
});
