import { describe, expect, it, vi } from "vitest";
import { entryFromJSON } from "../protocol/fakeMessages";
import type { Entry, Output } from "../protocol/messages";
import { OutputBuffer } from "./outputBuffer";
import { initialState, reduceEntries, reduceEntry, restoreState } from "./reducer";
import type { State } from "./state";

let nextSeq = 1;

function kernelEntry(msg: object, seq = nextSeq++): Entry {
  return entryFromJSON(seq, "kernel>server", msg);
}

function stdioEntry(id: string, data: string): Entry {
  return kernelEntry({ type: "kernel_stdio", active_cell: id, stream: "stdout", data });
}

function createdCellEntry(id: string, position: number): Entry {
  const cell = { cell_id: id, cell_type: "code", source: id, display_name: "", rev: 1 };
  return entryFromJSON(nextSeq++, "notebook", {
    type: "notebook_event",
    event: "cell_created",
    cell,
    position,
    by: "agent",
  });
}

function stateWithCells(count: number): State {
  nextSeq = 1;
  const cells = Array.from({ length: count }, (_, i) => createdCellEntry(`c${i}`, i));
  return reduceEntries(initialState, [...cells, ...cells.map((_, i) => stdioEntry(`c${i}`, "begun\n"))]);
}

function textOfOutput(output: Output | undefined): string {
  return output !== undefined && "text" in output ? String(output.text) : "";
}

const pngData = (bytes: number) => "A".repeat(bytes);

describe("unchanged parts of the state", () => {
  it("stay the same objects, and so do outputs that have not changed", () => {
    const before = stateWithCells(3);
    const after = reduceEntries(before, [
      stdioEntry("c1", "more\n"),
      kernelEntry({ type: "cell_widgets", cell_id: "c1", widget_state: {} }),
    ]);
    expect(after.notebook.cells).toBe(before.notebook.cells);
    expect(after.notebook.order).toBe(before.notebook.order);
    expect(after.agent).toBe(before.agent);
    expect(after.notebook.executions.c0).toBe(before.notebook.executions.c0);
    expect(after.notebook.executions.c1).not.toBe(before.notebook.executions.c1);
    const ended = reduceEntry(after, kernelEntry({ type: "cell_result", cell_id: "c1", status: "ok" }));
    expect(ended.notebook.executions.c1?.outputs).toBe(after.notebook.executions.c1?.outputs);
  });

  it("include a plot while text is printed after it", () => {
    const output = { output_type: "display_data", data: { "image/png": pngData(40) }, metadata: {} };
    const before = reduceEntries(stateWithCells(1), [kernelEntry({ type: "cell_output", cell_id: "c0", output })]);
    const after = reduceEntries(before, [stdioEntry("c0", "x"), stdioEntry("c0", "y")]);
    expect(after.notebook.executions.c0?.outputs[1]).toBe(before.notebook.executions.c0?.outputs[1]);
    expect(after.notebook.executions.c0?.outputs).toHaveLength(3);
  });

  it("an entry that changes nothing returns the same state", () => {
    const before = stateWithCells(1);
    expect(reduceEntries(before, [entryFromJSON(0, "session", { type: "state" })])).toBe(before);
  });
});

it("reduceEntries copies the state once for many entries", () => {
  const before = stateWithCells(2000);
  const many = Array.from({ length: 10_000 }, (_, i) => stdioEntry("c7", `line ${i}\n`));
  const copies = vi.spyOn(Object, "assign");
  const clones = vi.spyOn(OutputBuffer.prototype, "clone");
  const after = reduceEntries(before, many);
  expect(copies.mock.calls.length).toBeLessThan(5);
  expect(clones).toHaveBeenCalledTimes(1);
  expect(textOfOutput(after.notebook.executions.c7?.outputs[0]).endsWith("line 9999\n")).toBe(true);
});

it("keeps both ends of a cell's text, 1 MiB in all, and notes what is missing", () => {
  let state = stateWithCells(1);
  for (let i = 0; i < 50; i++) state = reduceEntries(state, [stdioEntry("c0", `${i} `.repeat(1 << 18))]);
  const text = textOfOutput(state.notebook.executions.c0?.outputs[0]);
  expect(text.startsWith("begun\n0 0 ")).toBe(true);
  expect(text.endsWith("49 49 ")).toBe(true);
  expect(text).toMatch(/\n\[\.\.\. \d+ bytes left out \.\.\.\]\n/);
  expect(text.length).toBeLessThan((1 << 20) + 100);
});

it("ignores entries that were applied already, but never those without seq", () => {
  const before = stateWithCells(1);
  const { seq } = before.notebook;
  const old = { ...stdioEntry("c0", "again\n"), seq };
  expect(reduceEntries(before, [old, { ...createdCellEntry("x", 0), seq: 1 }])).toBe(before);
  const after = reduceEntries(before, [{ ...old, seq: 0 }]);
  expect(textOfOutput(after.notebook.executions.c0?.outputs[0])).toBe("begun\nagain\n");
  expect(after.notebook.seq).toBe(seq);
});

it("records who changed a cell last, and in which entry", () => {
  const state = reduceEntry(
    stateWithCells(1),
    entryFromJSON(70, "notebook", {
      type: "notebook_event",
      event: "cell_edited",
      cell_id: "c0",
      source: "new",
      rev: 2,
      by: "console",
    }),
  );
  expect(state.notebook.cells.c0).toMatchObject({ source: "new", rev: 2, lastChange: { by: "console", seq: 70 } });
});

it("records the start of a live execution, and its duration", () => {
  const begun = reduceEntry(stateWithCells(1), {
    ...kernelEntry({ type: "start_cell", cell_id: "c0", run_sequencer: 4 }),
    at: 1234,
  });
  expect(begun.notebook.executions.c0).toMatchObject({
    started: true,
    startedAt: 1234,
    sequencer: 4,
    count: 4,
    outputs: [],
  });
  const ended = reduceEntry(begun, kernelEntry({ type: "cell_result", cell_id: "c0", status: "ok", duration_ms: 5.5 }));
  expect(ended.notebook.executions.c0).toMatchObject({ status: "ran", durationMs: 5.5 });
  expect(ended.notebook.executions.c0).not.toHaveProperty("startedAt");
});

describe("a large value", () => {
  const show = (id: string, bytes: number) =>
    kernelEntry({
      type: "cell_output",
      cell_id: id,
      output: { output_type: "display_data", data: { "image/png": pngData(bytes) }, metadata: {} },
    });
  const shown = (state: State, id: string) => {
    const output = state.notebook.executions[id]?.outputs.at(-1);
    return output !== undefined && "data" in output ? output.data : {};
  };

  it("is displayed in full, although the buffer keeps only a reference", () => {
    const state = reduceEntries(stateWithCells(1), [show("c0", 900_000)]);
    expect(shown(state, "c0")).toEqual({ "image/png": pngData(900_000) });
  });

  it("is dropped, oldest first, if all of them together are too large", () => {
    const state = reduceEntries(
      stateWithCells(6),
      Array.from({ length: 6 }, (_, i) => show(`c${i}`, 12 << 20)),
    );
    expect(Object.keys(shown(state, "c0"))).toEqual(["text/plain"]);
    expect(String(shown(state, "c0")["text/plain"])).toMatch(/^\[image\/png, \d+ bytes: in the trace, entry \d+\]$/);
    expect(Object.keys(shown(state, "c5"))).toEqual(["image/png"]);
  });
});

it("running cells fail when the kernel ends, and the next kernel is noticed", () => {
  const running = reduceEntries(stateWithCells(2), [
    kernelEntry({ type: "start_cell", cell_id: "c0", run_sequencer: 1 }),
  ]);
  const dead = reduceEntry(
    running,
    entryFromJSON(0, "server>console", { type: "managed_process_exit", name: "kernel" }),
  );
  expect(dead.notebook).toMatchObject({
    kernel: "dead",
    executions: { c0: { status: "error", started: false, count: 1 } },
  });
  const back = reduceEntry(dead, entryFromJSON(0, "server>console", { type: "ready", kernel_status: "running" }));
  expect(back.notebook.kernel).toBe("running");
});

describe("restoreState", () => {
  const runs = (status: "running" | "ran") => ({
    cell_status: { c0: status },
    cell_sequencers: { c0: 3 },
    cell_outputs: { c0: [{ output_type: "stream" as const, name: "stdout" as const, text: "so far\n" }] },
    run_queue: [],
    cell_widgets: { c0: { "c0/w": { type: "slider", value: 1 } } },
    cell_counts: {},
    cell_durations: {},
  });
  const cell = { cell_id: "c0", cell_type: "code" as const, source: "c0", display_name: "", rev: 1 };

  it("continues from the restored state", () => {
    const state = restoreState(stateWithCells(2), { seq: 900, cells: [cell], runs: runs("running") });
    const after = reduceEntries(state, [
      { ...stdioEntry("c0", "and more\n"), seq: 901 },
      entryFromJSON(902, "kernel>server", { type: "start_cell", cell_id: null }),
    ]);
    expect(after.notebook).toMatchObject({ seq: 902, order: ["c0"] });
    expect(after.notebook.executions.c1).toBeUndefined();
    expect(after.notebook.executions.c0).toMatchObject({
      status: "ran",
      sequencer: 3,
      widgets: { "c0/w": { value: 1 } },
    });
    expect(textOfOutput(after.notebook.executions.c0?.outputs[0])).toBe("so far\nand more\n");
  });

  it("keeps unchanged cells, their last changes and the agent's state, and drops the verdict", () => {
    const before = reduceEntry(
      stateWithCells(1),
      entryFromJSON(0, "server>console", { type: "eval_result", case_id: "x" }),
    );
    expect(before.verdict?.case_id).toBe("x");
    const after = restoreState(before, { seq: 900, cells: [cell], runs: runs("ran") });
    expect(after.notebook.cells.c0).toBe(before.notebook.cells.c0);
    expect(after.agent).toBe(before.agent);
    expect(after.verdict).toBeNull();
  });
});

describe("hostile entries", () => {
  const junk = [
    undefined,
    null,
    0,
    -1,
    1.5,
    Number.NaN,
    true,
    "",
    "x",
    "__proto__",
    [],
    [null],
    [[1]],
    {},
    { a: { b: 1 } },
    "\ud800",
  ];
  const names = [
    ["kernel>server", "start_cell", ["cell_id", "run_sequencer"]],
    ["kernel>server", "kernel_stdio", ["active_cell", "stream", "data"]],
    ["kernel>server", "cell_output", ["cell_id", "output"]],
    ["kernel>server", "cell_result", ["cell_id", "status", "exception", "duration_ms"]],
    ["kernel>server", "run_queue", ["queue"]],
    ["kernel>server", "cell_widgets", ["cell_id", "widget_state"]],
    ["server>kernel", "run_cell", ["cell_id"]],
    ["server>kernel", "dispose_cell", ["cell_id"]],
    ["notebook", "notebook_event", ["event", "cell", "position", "cell_id", "source", "rev", "state", "by"]],
    ["server>console", "eval_result", ["case_id", "passed", "score", "graders", "answer"]],
    ["agent>server", "agent_history_updated", ["entry", "request_id"]],
    ["agent>server", "agent_event", ["text", "metadata"]],
    ["agent>server", "agent_status", ["status"]],
    ["agent>server", "agent_usage_update", ["input_tokens", "cost_usd"]],
    ["agent>server", "agent_stream_delta", ["block_index", "block_type", "delta"]],
    ["server>agent", "agent_query", ["query", "request_id"]],
    ["session", "peer_ended", ["peer", "reason"]],
  ] as const;

  it.each(names)("%s %s", (hop, type, fields) => {
    for (const field of fields) {
      for (const value of junk) {
        const good = { cell_id: "c0", output: { output_type: "display_data", data: {} }, data: "x", stream: "stdout" };
        const entry = entryFromJSON(0, hop, { ...good, type, [field]: value });
        expect(() => reduceEntry(stateWithCells(1), entry)).not.toThrow();
      }
    }
  });

  it.each(["data", "metadata", "transient", "traceback", "ename", "text", "name", "execution_count", "wait"])(
    "an output whose %s has a wrong type",
    (field) => {
      for (const output_type of [
        "stream",
        "error",
        "display_data",
        "execute_result",
        "update_display_data",
        "clear_output",
      ]) {
        for (const value of junk) {
          const output = { output_type, data: {}, name: "stdout", text: "x", [field]: value };
          expect(() =>
            reduceEntry(stateWithCells(1), kernelEntry({ type: "cell_output", cell_id: "c0", output })),
          ).not.toThrow();
        }
      }
    },
  );

  it("malformed entries are ignored", () => {
    const before = stateWithCells(1);
    for (const msg of junk) expect(reduceEntry(before, entryFromJSON(0, "kernel>server", msg))).toBe(before);
  });

  it("cell ids may be names of Object's properties", () => {
    const ids = ["__proto__", "constructor", "toString"];
    const state = reduceEntries(initialState, [
      ...ids.map((id, i) => createdCellEntry(id, i)),
      ...ids.map((id) => stdioEntry(id, id)),
    ]);
    for (const id of ids) expect(textOfOutput(state.notebook.executions[id]?.outputs[0])).toBe(id);
    expect(Object.keys(state.notebook.cells)).toEqual(ids);
    expect(({} as Record<string, unknown>).outputs).toBeUndefined();
  });

  it("values nested too deeply for JSON do not throw", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 20_000; i++) deep = [deep];
    const output = { output_type: "display_data", data: { "application/json": deep, "image/png": deep }, metadata: {} };
    expect(() => reduceEntry(initialState, kernelEntry({ type: "cell_output", cell_id: "a", output }))).not.toThrow();
  });

  it("the number of cells is limited", () => {
    const many = Array.from({ length: 10_050 }, (_, i) => kernelEntry({ type: "start_cell", cell_id: `c${i}` }, i + 1));
    expect(Object.keys(reduceEntries(initialState, many).notebook.executions)).toHaveLength(10_000);
  });
});
