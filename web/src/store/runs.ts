import { type Fields, isAbsent, isObject, isTexts, numberOrZero } from "../json/read";
import type { Draft } from "./draft";
import type { OpenRun } from "./openRun";
import { foldOutput } from "./outputs";
import { widgetsOf } from "./restore";
import { faultOf, fitted } from "./rich";
import type { RunsDraft } from "./runsDraft";
import { jsonBytes, valueText } from "./size";
import { byteLength } from "./utf8";

/** Takes in a frame of the kernel that is entry seq and came at a time. One that cannot be followed changes nothing. */
export function foldFrame(draft: Draft, seq: number, frame: Fields, at: number | undefined): void {
  const { runs } = draft;
  switch (frame.type) {
    case "ready":
      draft.kernel = "running";
      return;
    case "start_cell":
      start(runs, frame, at);
      return;
    case "kernel_stdio":
      stdio(runs, frame);
      return;
    case "cell_output":
      if (isId(frame.cell_id) && isObject(frame.output)) foldOutput(runs, seq, frame.cell_id, frame.output);
      return;
    case "cell_result":
      result(runs, frame);
      return;
    case "run_queue":
      queue(runs, frame);
      return;
    case "cell_widgets":
      widgets(runs, frame);
      return;
  }
}

/** Takes in what the server has written to the kernel. */
export function foldCommand(runs: RunsDraft, command: Fields): void {
  const id = command.cell_id;
  if (!isId(id)) return;
  if (command.type === "dispose_cell") runs.dispose(id);
  if (command.type !== "run_cell") return;
  runs.revive(id);
  (runs.known(id) ?? runs.begin(id)).pending = true;
}

/** Takes in that the kernel is gone: runs that were open have failed, nothing waits, widgets are gone. Outputs stay. */
export function foldEnd(draft: Draft): void {
  const { runs } = draft;
  draft.kernel = "dead";
  runs.queue = [];
  runs.forgetDisposed();
  for (const id of runs.ids()) {
    const run = runs.known(id);
    if (run === null) continue;
    if (run.pending || run.started) run.last = "error";
    run.pending = false;
    run.started = false;
    run.startedAt = undefined;
    run.sequencer = 0;
    run.widgets = widgetsOf(id, null);
  }
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "";
}

function start(runs: RunsDraft, frame: Fields, at: number | undefined): void {
  const { cell_id: id, run_sequencer: sequencer } = frame;
  if (!isAbsent(sequencer) && !Number.isInteger(sequencer)) return;
  if (isAbsent(id) || id === "") {
    idle(runs);
    return;
  }
  if (typeof id !== "string" || runs.live(id) === null) return;
  const run = runs.begin(id);
  run.started = true;
  runs.noteStarted(id);
  run.sequencer = numberOrZero(sequencer);
  run.count = run.sequencer;
  run.startedAt = at;
  const place = runs.queue.indexOf(id);
  if (place >= 0) runs.queue = runs.queue.toSpliced(place, 1);
}

/** Closes what a kernel that has become idle has left without a result. A run that has not started may still be on its way. */
function idle(runs: RunsDraft): void {
  for (const run of runs.takeStarted()) run.end("ran");
}

function stdio(runs: RunsDraft, frame: Fields): void {
  const { active_cell: id, stream, data } = frame;
  if (!isId(id) || typeof data !== "string" || data === "") return;
  if (stream === "stdout" || stream === "stderr") runs.live(id)?.write(stream, data);
}

/** A result is read leniently, as a run whose result is not understood never ends. */
function result(runs: RunsDraft, frame: Fields): void {
  if (!isId(frame.cell_id)) return;
  const run = runs.live(frame.cell_id);
  if (run === null) return;
  const exception = frame.exception === false ? "" : valueText(frame.exception);
  const failed =
    exception !== "" || frame.has_exception === true || frame.status === "error" || frame.status === "interrupted";
  if (failed) explain(run, exception);
  run.end(failed ? "error" : "ran");
  run.interrupted = frame.status === "interrupted";
  if (typeof frame.duration_ms === "number" && frame.duration_ms >= 0) run.durationMs = frame.duration_ms;
}

/** Shows an exception as an error output unless the run has shown one: not every kernel does. */
function explain(run: OpenRun, exception: string): void {
  for (const rich of run.tape.rich()) if (rich.fault !== null) return;
  if (exception === "") return;
  const lines = exception.replace(/\n+$/, "").split("\n");
  const last = lines.at(-1) ?? "";
  const colon = last.indexOf(": ");
  const [name, value] = colon < 0 ? [last, ""] : [last.slice(0, colon), last.slice(colon + 2)];
  const rich = faultOf(name, value, lines);
  run.add(fitted(rich, run.room(), 0));
}

function queue(runs: RunsDraft, frame: Fields): void {
  const ids = frame.queue ?? [];
  if (!isTexts(ids)) return;
  runs.queue = ids.filter((id) => {
    const run = runs.live(id);
    if (run !== null) run.pending = true;
    return run !== null;
  });
}

/** Replaces the widgets of a cell, of which the first are kept that have room together. */
function widgets(runs: RunsDraft, frame: Fields): void {
  const { cell_id: id, widget_state: states } = frame;
  if (!isId(id) || !isObject(states)) return;
  const run = runs.live(id);
  if (run === null) return;
  let room = runs.limit;
  const kept = Object.entries(states).filter(([key, state]) => {
    room -= byteLength(key) + jsonBytes(state);
    return room >= 0;
  });
  run.widgets = widgetsOf(id, Object.fromEntries(kept));
}
