import { boolean, nullable } from "../json/schema";
import { type Fields, textOfStringOrLines } from "../json/values";
import { type ExecutionDraft, streamNameSchema } from "./executionDraft";
import type { ExecutionsDraft } from "./executionsDraft";
import { maxRetainedPerCell } from "./retainedValues";
import { fitOutput, readOutput, type StoredOutput, withoutRetained } from "./storedOutput";

/**
 * Adds an nbformat output of a cell, which came in entry seq, to the cell's execution. An output
 * that is malformed, or of a cell whose execution cannot be stored, changes nothing.
 */
export function applyOutput(executions: ExecutionsDraft, seq: number, id: string, output: Fields): void {
  const kind = output.output_type;
  switch (kind) {
    case "clear_output": {
      const wait = nullable(boolean).parse(output.wait ?? null);
      if (wait !== undefined) executions.getOrCreate(id)?.clearOutputs(wait === true);
      return;
    }
    case "stream": {
      const name = streamNameSchema.parse(output.name);
      const text = textOfStringOrLines(output.text);
      if (name !== undefined && text !== null) executions.getOrCreate(id)?.writeText(name, text);
      return;
    }
    case "update_display_data":
    case "display_data":
    case "execute_result":
    case "error": {
      const content = readOutput(seq, kind, output);
      const execution = content && executions.getOrCreate(id);
      if (content === null || execution === null) return;
      if (kind === "update_display_data") updateDisplay(executions, id, execution, content);
      else addOutputToExecution(executions, id, execution, content);
    }
  }
}

function addOutputToExecution(
  executions: ExecutionsDraft,
  id: string,
  execution: ExecutionDraft,
  content: StoredOutput,
): void {
  execution.addOutput(fitOutputToExecution(execution, content));
  executions.noteDisplay(content.displayId, id);
  executions.retained.set(id, execution.retainedBytes());
}

/** Makes an output small enough for an execution, which may retain large values besides. */
function fitOutputToExecution(execution: ExecutionDraft, content: StoredOutput): StoredOutput {
  const retainRoom = Math.max(0, maxRetainedPerCell - execution.retainedBytes());
  return fitOutput(content, execution.outputRoom(), retainRoom);
}

/** Replaces the content of a display in all cells that show it. Only the sending cell retains large values. */
function updateDisplay(
  executions: ExecutionsDraft,
  sender: string,
  execution: ExecutionDraft,
  content: StoredOutput,
): void {
  if (content.displayId === "") return;
  const own = fitOutputToExecution(execution, content);
  const elsewhere = withoutRetained(own);
  for (const id of executions.cellsWithDisplay(content.displayId)) {
    const shown = executions.get(id);
    if (shown === null) continue;
    shown.buffer.updateDisplay(id === sender ? own : elsewhere);
    executions.retained.set(id, shown.retainedBytes());
  }
}
