import { copyOfRecord, emptyRecord, isObject } from "../json/values";
import type { ExecutionStatus, Widget } from "../protocol/messages";
import type { ExecutionsSnapshot } from "../protocol/wire.gen";
import type { ExecutionsDraft } from "./executionsDraft";

/**
 * Restores the executions of a snapshot whose kernel is gone: what was running has failed,
 * nothing waits, and there are no widgets.
 */
export function restoreExecutions(executions: ExecutionsDraft, snapshot: ExecutionsSnapshot): void {
  for (const id of Object.keys(snapshot.cell_status).sort()) {
    if (executions.getOrCreate(id) === null) continue;
    const draft = executions.begin(id);
    draft.count = snapshot.cell_counts[id] || snapshot.cell_sequencers[id] || 0;
    draft.durationMs = snapshot.cell_durations[id] || undefined;
    const status = executionStatusOf(snapshot.cell_status[id]);
    draft.lastStatus = status === "running" ? "error" : status;
    draft.addSnapshotOutputs(snapshot.cell_outputs[id] ?? []);
  }
}

/** Replaces all executions by those of a snapshot whose kernel is still running. */
export function resumeExecutions(executions: ExecutionsDraft, snapshot: ExecutionsSnapshot): void {
  const { cell_status, cell_sequencers, cell_counts, cell_durations, cell_outputs, cell_widgets } = snapshot;
  const countBefore = new Map(executions.ids().map((id) => [id, executions.get(id)?.count ?? 0]));
  executions.clear();
  const queue = snapshot.run_queue;
  const ids = Object.keys(Object.assign(copyOfRecord<unknown>(cell_status), cell_outputs, cell_widgets));
  for (const id of ids) {
    const draft = executions.getOrCreate(id);
    if (draft === null) continue;
    draft.sequencer = cell_sequencers[id] ?? 0;
    draft.count = cell_counts[id] || draft.sequencer || (countBefore.get(id) ?? 0);
    draft.durationMs = cell_durations[id] || undefined;
    const status = executionStatusOf(cell_status[id]);
    draft.pending = status === "running" && queue.includes(id);
    draft.started = status === "running" && !draft.pending;
    draft.lastStatus = status === "running" ? "idle" : status;
    draft.addSnapshotOutputs(cell_outputs[id] ?? []);
    draft.widgets = widgetsOf(id, cell_widgets[id] ?? {});
  }
  executions.queue = queue.filter((id) => executions.get(id) !== null);
}

function executionStatusOf(status: string | undefined): ExecutionStatus {
  return status === "running" || status === "ran" || status === "error" ? status : "idle";
}

/** Returns the widgets of a cell by absolute key. Kernels may send keys that are relative to the cell. */
export function widgetsOf(cellId: string, states: Readonly<Record<string, unknown>>): Record<string, Widget> {
  const widgets = emptyRecord<Widget>();
  for (const [key, state] of Object.entries(states)) widgets[absoluteWidgetKey(cellId, key)] = widgetOf(state);
  return widgets;
}

/** Returns "<cell id>/<key>" for a key that is relative to its cell, and an absolute key as it is. */
export function absoluteWidgetKey(cellId: string, key: string): string {
  return key.startsWith(`${cellId}/`) ? key : `${cellId}/${key}`;
}

function widgetOf(state: unknown): Widget {
  if (!isObject(state)) return { type: "", value: state };
  return { ...state, type: typeof state.type === "string" ? state.type : "" };
}
