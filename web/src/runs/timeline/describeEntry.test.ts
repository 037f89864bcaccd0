import { expect, test } from "vitest";
import { entryFromJSON } from "../../protocol/fakeMessages";
import type { Hop } from "../../protocol/messages";
import { initialState, restoreState } from "../../store/reducer";
import { describeEntry } from "./describeEntry";

const twoCells = ["x", "y"].map((id) => ({
  cell_id: id,
  cell_type: "code" as const,
  source: "",
  display_name: "",
  rev: 1,
}));
const finishedExecutions = {
  cell_status: {},
  cell_sequencers: {},
  cell_outputs: {},
  run_queue: [],
  cell_widgets: {},
  cell_counts: {},
  cell_durations: {},
};
const twoCellState = restoreState(initialState, { seq: 1, cells: twoCells, runs: finishedExecutions });

function descriptionOf(hop: string, msg: unknown): string {
  return describeEntry(entryFromJSON(1, hop as Hop, msg), twoCellState);
}

test("describeEntry describes each kind of entry", () => {
  expect(descriptionOf("notebook", { type: "notebook_event", event: "cell_edited", by: "agent", cell_id: "y" })).toBe(
    "agent edited cell 2",
  );
  expect(descriptionOf("notebook", { type: "notebook_event", event: "cell_deleted", cell_id: "gone" })).toBe(
    "a cell was deleted",
  );
  expect(descriptionOf("kernel>server", { type: "cell_result", cell_id: "y", status: "ok", duration_ms: 1234 })).toBe(
    "cell 2 ended after 1.2 s",
  );
  expect(descriptionOf("kernel>server", { type: "cell_result", cell_id: "x", status: "error" })).toBe("cell 1 failed");
  expect(descriptionOf("kernel>server", { type: "start_cell", cell_id: null })).toBe("the kernel is idle");
  const content = [{ type: "text" }, { type: "tool_use", name: "create_cell" }];
  expect(descriptionOf("agent>server", { type: "agent_history_updated", entry: { role: "assistant", content } })).toBe(
    "agent called create_cell",
  );
  expect(descriptionOf("agent>model", { type: "model_call", call: 1 })).toBe("agent called its model");
});

test.each([
  null,
  3,
  [],
  {},
  { type: 7 },
  { type: "agent_history_updated", entry: { content: [null, 1] } },
  { type: "constructor" },
])("anything has words: %j", (msg) => {
  for (const hop of ["notebook", "kernel>server", "session", "agent>server", "server>agent", "x"]) {
    expect(descriptionOf(hop, msg)).not.toBe("");
  }
});
