import { expect, test } from "vitest";
import { entryOf } from "../../protocol/fakeMessages";
import type { Hop } from "../../protocol/messages";
import { initialState, restoreState } from "../../store/reducer";
import { describeEntry } from "./describeEntry";

const cells = ["x", "y"].map((id) => ({
  cell_id: id,
  cell_type: "code" as const,
  source: "",
  display_name: "",
  rev: 1,
}));
const runs = {
  cell_status: {},
  cell_sequencers: {},
  cell_outputs: {},
  run_queue: [],
  cell_widgets: {},
  cell_counts: {},
  cell_durations: {},
};
const state = restoreState(initialState, { seq: 1, cells, runs });

function words(hop: string, msg: unknown): string {
  return describeEntry(entryOf(1, hop as Hop, msg), state);
}

test("what happened is said in words", () => {
  expect(words("notebook", { type: "notebook_event", event: "cell_edited", by: "agent", cell_id: "y" })).toBe(
    "agent edited cell 2",
  );
  expect(words("notebook", { type: "notebook_event", event: "cell_deleted", cell_id: "gone" })).toBe(
    "a cell was deleted",
  );
  expect(words("kernel>server", { type: "cell_result", cell_id: "y", status: "ok", duration_ms: 1234 })).toBe(
    "cell 2 ended after 1.2 s",
  );
  expect(words("kernel>server", { type: "cell_result", cell_id: "x", status: "error" })).toBe("cell 1 failed");
  expect(words("kernel>server", { type: "start_cell", cell_id: null })).toBe("the kernel is idle");
  const content = [{ type: "text" }, { type: "tool_use", name: "create_cell" }];
  expect(words("agent>server", { type: "agent_history_updated", entry: { role: "assistant", content } })).toBe(
    "agent called create_cell",
  );
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
    expect(words(hop, msg)).not.toBe("");
  }
});
