import { oneOf } from "../json/schema";
import { emptyRecord, isObject, textOfStringOrLines } from "../json/values";
import type { ExecutionStatus, Widget } from "../protocol/messages";
import { OutputBuffer, type StreamName } from "./outputBuffer";
import { noRenderedOutputs, type RenderedOutputs, renderOutputs } from "./renderedOutputs";
import type { Execution } from "./state";
import { fitOutput, readOutput, retainedBytes, type StoredOutput, withoutRetained } from "./storedOutput";

/** Schema of the name of an output stream. */
export const streamNameSchema = oneOf("stdout", "stderr");

/**
 * An execution while it is changed.
 *
 *     idle --run_cell, run_queue--> pending --start_cell--> started --cell_result--> ended
 *
 * A started cell can be pending again. While it is either, its status is "running"; otherwise
 * its status says how its last execution ended. Its outputs are those of the last execution
 * that started.
 */
export class ExecutionDraft {
  pending = false;
  started = false;
  /** How the last execution ended. */
  lastStatus: ExecutionStatus = "idle";
  sequencer = 0;
  count = 0;
  widgets: Execution["widgets"] = emptyRecord<Widget>();
  durationMs: number | undefined;
  startedAt: number | undefined;
  /** Whether the last execution was interrupted. */
  interrupted = false;
  /** Whether the next output replaces all outputs before it. */
  clearPending = false;
  buffer: OutputBuffer;
  private rendered: RenderedOutputs = noRenderedOutputs;
  private outputs: Execution["outputs"] | null = null;

  /** Copies an execution; null makes an idle one. limit is the size of the output buffer in bytes. */
  constructor(
    execution: Execution | null,
    private readonly limit: number,
  ) {
    this.buffer = new OutputBuffer(limit);
    if (execution === null) return;
    this.pending = execution.pending;
    this.started = execution.started;
    this.lastStatus = execution.status;
    this.sequencer = execution.sequencer;
    this.count = execution.count;
    this.widgets = execution.widgets;
    this.durationMs = execution.durationMs;
    this.startedAt = execution.startedAt;
    this.interrupted = execution.interrupted === true;
    if (execution.internals === undefined) {
      this.addSnapshotOutputs(execution.outputs);
      return;
    }
    this.clearPending = execution.internals.clearPending;
    this.buffer = execution.internals.buffer.clone();
    this.rendered = execution.internals.rendered;
    this.outputs = execution.outputs;
  }

  /** Ends the started execution, or the pending one if the kernel does not report starts. */
  end(status: "ran" | "error"): void {
    if (this.started) this.started = false;
    else this.pending = false;
    this.lastStatus = status;
    this.interrupted = false;
    this.startedAt = undefined;
  }

  writeText(stream: StreamName, text: string): void {
    this.clearIfPending();
    this.buffer.writeText(stream, text);
  }

  addOutput(output: StoredOutput): void {
    this.clearIfPending();
    this.buffer.addOutput(output);
  }

  /** Removes the outputs: now, or with wait when the next output comes. */
  clearOutputs(wait: boolean): void {
    this.clearPending = true;
    if (!wait) this.clearIfPending();
  }

  private clearIfPending(): void {
    if (!this.clearPending) return;
    this.clearPending = false;
    this.buffer = new OutputBuffer(this.limit);
  }

  /** Returns how many bytes an output may have to be stored without omissions. */
  outputRoom(): number {
    return Math.floor(this.buffer.half / 2);
  }

  /** Returns the bytes of all retained values. */
  retainedBytes(): number {
    let bytes = 0;
    for (const output of this.buffer.outputs()) bytes += retainedBytes(output);
    return bytes;
  }

  /** Drops the retained values. */
  dropRetained(): void {
    this.buffer.changeOutputs(withoutRetained);
  }

  /** Adds the nbformat outputs of a snapshot. Malformed ones are left out. */
  addSnapshotOutputs(outputs: readonly unknown[]): void {
    for (const output of outputs) {
      if (!isObject(output)) continue;
      const kind = output.output_type;
      const stream = streamNameSchema.parse(output.name);
      const text = textOfStringOrLines(output.text);
      if (kind === "stream" && stream !== undefined && text !== null) this.writeText(stream, text);
      if (kind !== "display_data" && kind !== "execute_result" && kind !== "error") continue;
      const stored = readOutput(0, kind, output);
      if (stored !== null) this.addOutput(fitOutput(stored, this.outputRoom(), 0));
    }
  }

  finish(): Execution {
    this.rendered = renderOutputs(this.buffer, this.rendered);
    const { buffer, rendered, clearPending, durationMs, startedAt, interrupted } = this;
    const stillEmpty = this.outputs !== null && this.outputs.length === 0 && rendered.outputs.length === 0;
    return {
      status: this.pending || this.started ? "running" : this.lastStatus,
      pending: this.pending,
      started: this.started,
      sequencer: this.sequencer,
      count: this.count,
      outputs: stillEmpty && this.outputs !== null ? this.outputs : rendered.outputs,
      widgets: this.widgets,
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(interrupted ? { interrupted } : {}),
      internals: { buffer, rendered, clearPending },
    };
  }
}
