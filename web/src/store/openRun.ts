import { isObject, linesOf } from "../json/read";
import { emptyRecord } from "../json/record";
import type { RunStatus, Widget } from "../protocol/messages";
import { fitted, heldBytes, type Rich, readRich, released } from "./rich";
import { nothingShown, type Showing, show } from "./shown";
import type { Run } from "./state";
import { type Stream, Tape } from "./tape";

/**
 * A run while it is changed.
 *
 *     idle --sent, run_queue--> pending --start_cell--> started --cell_result--> ended
 *
 * A cell that is started can be pending again. While it is either it counts as
 * running; else it is as its last run ended. Its outputs are those of the last run
 * that started.
 */
export class OpenRun {
  pending = false;
  started = false;
  /** How the last run ended. */
  last: RunStatus = "idle";
  sequencer = 0;
  count = 0;
  widgets: Run["widgets"] = emptyRecord<Widget>();
  durationMs: number | undefined;
  startedAt: number | undefined;
  /** The last run was stopped before it ended. */
  interrupted = false;
  clearing = false;
  tape: Tape;
  private shown: Showing = nothingShown;
  private outputs: Run["outputs"] | null = null;

  /** A copy of a run; null: one of which nothing is known. limit is that of a tape. */
  constructor(
    run: Run | null,
    private readonly limit: number,
  ) {
    this.tape = new Tape(limit);
    if (run === null) return;
    this.pending = run.pending;
    this.started = run.started;
    this.last = run.status;
    this.sequencer = run.sequencer;
    this.count = run.count;
    this.widgets = run.widgets;
    this.durationMs = run.durationMs;
    this.startedAt = run.startedAt;
    this.interrupted = run.interrupted === true;
    if (run.memory === undefined) {
      this.reshow(run.outputs);
      return;
    }
    this.clearing = run.memory.clearing;
    this.tape = run.memory.tape.clone();
    this.shown = run.memory.shown;
    this.outputs = run.outputs;
  }

  /** Ends the run that is started, or, with a kernel that does not say when one starts, the one that is pending. */
  end(status: "ran" | "error"): void {
    if (this.started) this.started = false;
    else this.pending = false;
    this.last = status;
    this.interrupted = false;
    this.startedAt = undefined;
  }

  write(stream: Stream, text: string): void {
    this.makeRoom();
    this.tape.write(stream, text);
  }

  add(rich: Rich): void {
    this.makeRoom();
    this.tape.add(rich);
  }

  /** Removes the outputs, at once or when the next one comes. */
  clear(wait: boolean): void {
    this.clearing = true;
    if (!wait) this.makeRoom();
  }

  private makeRoom(): void {
    if (!this.clearing) return;
    this.clearing = false;
    this.tape = new Tape(this.limit);
  }

  /** How large one output may be without leaving anything out, in bytes. */
  room(): number {
    return Math.floor(this.tape.half / 2);
  }

  /** Bytes of large values that are held. */
  heldBytes(): number {
    let bytes = 0;
    for (const rich of this.tape.rich()) bytes += heldBytes(rich);
    return bytes;
  }

  /** Lets go of the large values that are held. */
  release(): void {
    this.tape.change(released);
  }

  /** Shows outputs that a snapshot has. Those that cannot be read are left out. */
  reshow(outputs: unknown): void {
    if (!Array.isArray(outputs)) return;
    for (const output of outputs) {
      if (!isObject(output)) continue;
      const { output_type: kind, name } = output;
      const text = linesOf(output.text);
      if (kind === "stream" && (name === "stdout" || name === "stderr") && text !== null) this.write(name, text);
      if (kind !== "display_data" && kind !== "execute_result" && kind !== "error") continue;
      const rich = readRich(0, kind, output);
      if (rich !== null) this.add(fitted(rich, this.room(), 0));
    }
  }

  finish(): Run {
    this.shown = show(this.tape, this.shown);
    const { tape, shown, clearing, durationMs, startedAt, interrupted } = this;
    return {
      status: this.pending || this.started ? "running" : this.last,
      pending: this.pending,
      started: this.started,
      sequencer: this.sequencer,
      count: this.count,
      outputs:
        this.outputs !== null && shown.outputs.length === 0 && this.outputs.length === 0 ? this.outputs : shown.outputs,
      widgets: this.widgets,
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(interrupted ? { interrupted } : {}),
      memory: { tape, shown, clearing },
    };
  }
}
