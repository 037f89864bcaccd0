import { isObject } from "../json/values";
import type { CellResultMessage, CellWidgetsMessage, Entry, Message, MessageOf } from "../protocol/messages";
import { applyOutput } from "./cellOutput";
import { type ExecutionDraft, streamNameSchema } from "./executionDraft";
import type { ExecutionsDraft } from "./executionsDraft";
import { widgetsOf } from "./restore";
import { jsonByteLength, valueText } from "./size";
import type { StateDraft } from "./stateDraft";
import { fitOutput, storedError } from "./storedOutput";
import { byteLength } from "./utf8";

/** Applies a message of the kernel, which is entry seq. receivedAt is the time of a live message, as of performance.now(). */
export function applyKernelMessage(draft: StateDraft, seq: number, message: Message, receivedAt: Entry["at"]): void {
  const { executions } = draft;
  switch (message.type) {
    case "ready":
      draft.kernel = "running";
      return;
    case "start_cell":
      startCellExecution(executions, message, receivedAt);
      return;
    case "kernel_stdio":
      writeStdio(executions, message);
      return;
    case "cell_output":
      if (message.cell_id !== "" && isObject(message.output)) {
        applyOutput(executions, seq, message.cell_id, message.output);
      }
      return;
    case "cell_result":
      endCellExecution(executions, message);
      return;
    case "run_queue":
      setRunQueue(executions, message.queue);
      return;
    case "cell_widgets":
      setCellWidgets(executions, message);
      return;
  }
}

/** Applies a command that the server has sent to the kernel. */
export function applyKernelCommand(executions: ExecutionsDraft, command: Message): void {
  if (command.type !== "run_cell" && command.type !== "dispose_cell") return;
  const { cell_id: id = "" } = command;
  if (id === "") return;
  if (command.type === "dispose_cell") {
    executions.dispose(id);
    return;
  }
  executions.revive(id);
  (executions.get(id) ?? executions.begin(id)).pending = true;
}

/** Applies the end of the kernel: open executions fail, the queue and the widgets are gone, outputs stay. */
export function applyKernelEnd(draft: StateDraft): void {
  const { executions } = draft;
  draft.kernel = "dead";
  executions.queue = [];
  executions.forgetDisposed();
  for (const id of executions.ids()) {
    const execution = executions.get(id);
    if (execution === null) continue;
    if (execution.pending || execution.started) execution.lastStatus = "error";
    execution.pending = false;
    execution.started = false;
    execution.startedAt = undefined;
    execution.sequencer = 0;
    execution.widgets = widgetsOf(id, {});
  }
}

function startCellExecution(
  executions: ExecutionsDraft,
  message: MessageOf<"start_cell">,
  receivedAt: Entry["at"],
): void {
  const { cell_id: id, run_sequencer: sequencer } = message;
  if (id === null || id === "") {
    endStartedExecutions(executions);
    return;
  }
  if (executions.getOrCreate(id) === null) return;
  const execution = executions.begin(id);
  execution.started = true;
  executions.noteStarted(id);
  execution.sequencer = sequencer;
  execution.count = sequencer;
  execution.startedAt = receivedAt;
  const position = executions.queue.indexOf(id);
  if (position >= 0) executions.queue = executions.queue.toSpliced(position, 1);
}

/** Ends what an idle kernel has left without a result. A pending cell may still be on its way to the kernel. */
function endStartedExecutions(executions: ExecutionsDraft): void {
  for (const execution of executions.takeStarted()) execution.end("ran");
}

function writeStdio(executions: ExecutionsDraft, { active_cell: id, stream, data }: MessageOf<"kernel_stdio">): void {
  if (id === null || id === "" || data === "") return;
  const name = streamNameSchema.parse(stream);
  if (name !== undefined) executions.getOrCreate(id)?.writeText(name, data);
}

function endCellExecution(executions: ExecutionsDraft, result: CellResultMessage): void {
  const execution = executions.getOrCreate(result.cell_id);
  if (execution === null) return;
  const exception = result.exception === false ? "" : valueText(result.exception);
  const hasFailed =
    exception !== "" || result.has_exception || result.status === "error" || result.status === "interrupted";
  if (hasFailed) addExceptionOutput(execution, exception);
  execution.end(hasFailed ? "error" : "ran");
  execution.interrupted = result.status === "interrupted";
  const { duration_ms: ms } = result;
  if (ms !== undefined && ms >= 0) execution.durationMs = ms;
}

/** Adds the exception of a result as an error output, unless the kernel has sent one. */
function addExceptionOutput(execution: ExecutionDraft, exception: string): void {
  for (const output of execution.buffer.outputs()) if (output.error !== null) return;
  if (exception === "") return;
  const lines = exception.replace(/\n+$/, "").split("\n");
  const last = lines.at(-1) ?? "";
  const colon = last.indexOf(": ");
  const [name, value] = colon < 0 ? [last, ""] : [last.slice(0, colon), last.slice(colon + 2)];
  execution.addOutput(fitOutput(storedError(name, value, lines), execution.outputRoom(), 0));
}

function setRunQueue(executions: ExecutionsDraft, ids: readonly string[]): void {
  executions.queue = ids.filter((id) => {
    const execution = executions.getOrCreate(id);
    if (execution !== null) execution.pending = true;
    return execution !== null;
  });
}

/** Replaces the widgets of a cell. Only the first ones that fit into the limit together are kept. */
function setCellWidgets(executions: ExecutionsDraft, { cell_id: id, widget_state: states }: CellWidgetsMessage): void {
  const execution = executions.getOrCreate(id);
  if (execution === null) return;
  let room = executions.limit;
  const kept = Object.entries(states).filter(([key, state]) => {
    room -= byteLength(key) + jsonByteLength(state);
    return room >= 0;
  });
  execution.widgets = widgetsOf(id, Object.fromEntries(kept));
}
