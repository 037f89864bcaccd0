import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type NotebookStateMessage, readEntries } from "../protocol/messages";
import type { ExecutionsSnapshot, WireCell } from "../protocol/wire.gen";
import { initialState, reduceEntries, restoreState } from "./reducer";
import { renderOutputs } from "./renderedOutputs";
import type { Execution, State } from "./state";
import { withoutRetained } from "./storedOutput";

// The server's folds and the page's are held against the same files.
const serverFoldsFolder = join(import.meta.dirname, "../../../internal/notebook/testdata/folds");

interface ServerFold {
  about: string;
  text_limit?: number;
  steps: unknown[];
  cells: WireCell[];
  runs: ExecutionsSnapshot;
}

const foldFileNames = readdirSync(serverFoldsFolder).filter((name) => name.endsWith(".json"));

function readFold(name: string): ServerFold {
  return JSON.parse(readFileSync(join(serverFoldsFolder, name), "utf8")) as ServerFold;
}

function wireCellsOfState({ notebook }: State): WireCell[] {
  return notebook.order.flatMap((id) => {
    const cell = notebook.cells[id];
    if (cell === undefined) return [];
    const by = cell.lastChange === undefined ? {} : { by: cell.lastChange.by };
    return { cell_id: id, cell_type: cell.type, source: cell.source, display_name: cell.title, rev: cell.rev, ...by };
  });
}

/** Returns the executions as a console receives them when it connects: without retained values. */
function executionsSnapshotOf({ notebook }: State): ExecutionsSnapshot {
  const executions = Object.entries(notebook.executions);
  const pick = <T>(value: (execution: Execution) => T | undefined) =>
    Object.fromEntries(
      executions.flatMap(([id, execution]) => {
        const found = value(execution);
        return found === undefined ? [] : [[id, found] as const];
      }),
    );
  return {
    cell_status: pick(({ status }) => status),
    cell_sequencers: pick(({ sequencer }) => sequencer || undefined),
    cell_counts: pick(({ count }) => count || undefined),
    cell_durations: pick(({ durationMs }) => durationMs || undefined),
    cell_outputs: pick(outputsOf),
    run_queue: [...notebook.queue],
    cell_widgets: pick(({ widgets }) => (Object.keys(widgets).length > 0 ? { ...widgets } : undefined)),
  };
}

function outputsOf({ internals }: Execution): unknown[] | undefined {
  const buffer = internals?.buffer.clone();
  buffer?.changeOutputs(withoutRetained);
  const outputs = buffer === undefined ? [] : renderOutputs(buffer).outputs;
  return outputs.length > 0 ? [...outputs] : undefined;
}

describe.each(foldFileNames)("%s", (name) => {
  const fold = readFold(name);

  it("gives the server's state when all entries are applied at once", () => {
    const state = reduceEntries(initialState, readEntries(fold.steps), fold.text_limit);
    expect(wireCellsOfState(state)).toEqual(fold.cells);
    expect(executionsSnapshotOf(state)).toEqual(fold.runs);
    for (const [id, widgets] of Object.entries(fold.runs.cell_widgets)) {
      expect(Object.keys(state.notebook.executions[id]?.widgets ?? {})).toEqual(Object.keys(widgets));
    }
  });

  it("gives the same state when entries are applied one by one", () => {
    const state = readEntries(fold.steps).reduce(
      (before, step) => reduceEntries(before, [step], fold.text_limit),
      initialState,
    );
    expect(wireCellsOfState(state)).toEqual(fold.cells);
    expect(executionsSnapshotOf(state)).toEqual(fold.runs);
  });

  it("gives the same state when restored from the server's snapshot", () => {
    const message: NotebookStateMessage = { seq: 9, cells: fold.cells, runs: fold.runs };
    const state = restoreState(initialState, message);
    expect(wireCellsOfState(state)).toEqual(fold.cells);
    expect(executionsSnapshotOf(state)).toEqual(fold.runs);
  });
});

it("the folds directory has test files", () => {
  expect(foldFileNames.length).toBeGreaterThan(3);
});
