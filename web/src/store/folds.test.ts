import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Entry, NotebookStateMessage, WireCell, WireRuns } from "../protocol/messages";
import { initial, reduceAll, restore } from "./reducer";
import { released } from "./rich";
import { show } from "./shown";
import type { State } from "./state";

// The server's folds and the page's are held against the same files.
const folder = join(import.meta.dirname, "../../../internal/notebook/testdata/folds");

interface Fold {
  about: string;
  text_limit?: number;
  steps: Entry[];
  cells: WireCell[];
  runs: WireRuns;
}

const names = readdirSync(folder).filter((name) => name.endsWith(".json"));

function read(name: string): Fold {
  return JSON.parse(readFileSync(join(folder, name), "utf8")) as Fold;
}

function cellsOf({ notebook }: State): WireCell[] {
  return notebook.order.flatMap((id) => {
    const cell = notebook.cells[id];
    if (cell === undefined) return [];
    const by = cell.touched === undefined ? {} : { by: cell.touched.by };
    return { cell_id: id, cell_type: cell.type, source: cell.source, display_name: cell.title, rev: cell.rev, ...by };
  });
}

/** The runs as a console gets them when it connects: without large values that are only held. */
function runsOf({ notebook }: State): WireRuns {
  const counts: Record<string, number> = {};
  const durations: Record<string, number> = {};
  const out: WireRuns = {
    cell_status: {},
    cell_sequencers: {},
    cell_counts: counts,
    cell_durations: durations,
    cell_outputs: {},
    run_queue: [...notebook.queue],
    cell_widgets: {},
  };
  for (const [id, run] of Object.entries(notebook.runs)) {
    out.cell_status[id] = run.status;
    if (run.count > 0) counts[id] = run.count;
    if (run.durationMs !== undefined && run.durationMs > 0) durations[id] = run.durationMs;
    if (run.sequencer > 0) out.cell_sequencers[id] = run.sequencer;
    const tape = run.memory?.tape.clone();
    tape?.change(released);
    const outputs = tape === undefined ? [] : show(tape).outputs;
    if (outputs.length > 0) out.cell_outputs[id] = [...outputs];
    if (Object.keys(run.widgets).length > 0) out.cell_widgets[id] = { ...run.widgets };
  }
  return out;
}

describe.each(names)("%s", (name) => {
  const fold = read(name);

  it("is folded as the server folds it, all at once", () => {
    const state = reduceAll(initial, fold.steps, fold.text_limit);
    expect(cellsOf(state)).toEqual(fold.cells);
    expect(runsOf(state)).toEqual(fold.runs);
    for (const [id, widgets] of Object.entries(fold.runs.cell_widgets)) {
      expect(Object.keys(state.notebook.runs[id]?.widgets ?? {})).toEqual(Object.keys(widgets));
    }
  });

  it("is folded likewise one entry after the other", () => {
    const state = fold.steps.reduce((before, step) => reduceAll(before, [step], fold.text_limit), initial);
    expect(cellsOf(state)).toEqual(fold.cells);
    expect(runsOf(state)).toEqual(fold.runs);
  });

  it("is the same when the state is restored from it", () => {
    const message: NotebookStateMessage = { type: "notebook_state", seq: 9, cells: fold.cells, runs: fold.runs };
    const state = restore(initial, message);
    expect(cellsOf(state)).toEqual(fold.cells);
    expect(runsOf(state)).toEqual(fold.runs);
  });
});

it("has files to be held against", () => {
  expect(names.length).toBeGreaterThan(3);
});
