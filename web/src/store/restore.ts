import { type Fields, isObject, isTexts, numberOrZero } from "../json/read";
import { copyOf, emptyRecord } from "../json/record";
import type { RunStatus, Widget } from "../protocol/messages";
import type { RunsDraft } from "./runsDraft";

/**
 * Takes over what the cells of a snapshot showed, of a kernel that is gone: what ran
 * then has failed, nothing waits, there are no widgets.
 */
export function restoreRuns(runs: RunsDraft, snapshot: Fields): void {
  const { statuses, sequencers, counts, durations, outputs } = partsOf(snapshot);
  for (const id of Object.keys(statuses).sort()) {
    if (runs.live(id) === null) continue;
    const run = runs.begin(id);
    run.count = numberOrZero(counts[id]) || numberOrZero(sequencers[id]);
    run.durationMs = numberOrZero(durations[id]) || undefined;
    const status = statusOf(statuses[id]);
    run.last = status === "running" ? "error" : status;
    run.reshow(outputs[id]);
  }
}

/** Takes over the state of all runs at one moment, of a kernel that goes on. */
export function resumeRuns(runs: RunsDraft, snapshot: Fields): void {
  const { statuses, sequencers, counts, durations, outputs, widgets } = partsOf(snapshot);
  const before = new Map(runs.ids().map((id) => [id, runs.known(id)?.count ?? 0]));
  runs.clear();
  const queue = isTexts(snapshot.run_queue) ? snapshot.run_queue : [];
  for (const id of Object.keys({ ...statuses, ...outputs, ...widgets })) {
    const run = runs.live(id);
    if (run === null) continue;
    run.sequencer = numberOrZero(sequencers[id]);
    run.count = numberOrZero(counts[id]) || run.sequencer || (before.get(id) ?? 0);
    run.durationMs = numberOrZero(durations[id]) || undefined;
    const status = statusOf(statuses[id]);
    run.pending = status === "running" && queue.includes(id);
    run.started = status === "running" && !run.pending;
    run.last = status === "running" ? "idle" : status;
    run.reshow(outputs[id]);
    run.widgets = widgetsOf(id, widgets[id]);
  }
  runs.queue = queue.filter((id) => runs.known(id) !== null);
}

function partsOf(snapshot: Fields) {
  const part = (name: string): Fields => {
    const value = snapshot[name];
    return copyOf(isObject(value) ? value : {});
  };
  return {
    statuses: part("cell_status"),
    sequencers: part("cell_sequencers"),
    counts: part("cell_counts"),
    durations: part("cell_durations"),
    outputs: part("cell_outputs"),
    widgets: part("cell_widgets"),
  };
}

function statusOf(status: unknown): RunStatus {
  return status === "running" || status === "ran" || status === "error" ? status : "idle";
}

/** The widgets of a cell by absolute key. Kernels may name them within their cell. */
export function widgetsOf(cellId: string, states: unknown): Record<string, Widget> {
  const widgets = emptyRecord<Widget>();
  for (const [key, state] of Object.entries(isObject(states) ? states : {})) {
    widgets[widgetKey(cellId, key)] = widgetOf(state);
  }
  return widgets;
}

export function widgetKey(cellId: string, key: string): string {
  return key.startsWith(`${cellId}/`) ? key : `${cellId}/${key}`;
}

function widgetOf(state: unknown): Widget {
  if (!isObject(state)) return { type: "", value: state };
  return { ...state, type: typeof state.type === "string" ? state.type : "" };
}
