import { emptyRecord } from "../json/values";
import type { Entry, Message, NotebookStateMessage } from "../protocol/messages";
import { applyAgentExit, applyAgentMessage, applyMessageToAgent } from "./agentMessages";
import { applyKernelCommand, applyKernelEnd, applyKernelMessage } from "./kernelMessages";
import { applyNotebookEvent, cellsOfWireCells } from "./notebookEvents";
import { resumeExecutions } from "./restore";
import type { Cell, Execution, State } from "./state";
import { StateDraft } from "./stateDraft";

/** The state before the first entry. */
export const initialState: State = {
  notebook: {
    seq: 0,
    order: [],
    cells: emptyRecord<Cell>(),
    executions: emptyRecord<Execution>(),
    queue: [],
    kernel: "unknown",
  },
  agent: { status: "starting", conversation: [], stream: null, usage: null, request: null },
  verdict: null,
};

/** Returns the state after one more entry. */
export function reduceEntry(state: State, entry: Entry): State {
  return reduceEntries(state, [entry]);
}

/**
 * Returns the state after more entries, in order. Costs less than one call per entry.
 * outputLimit is how many bytes of outputs are kept of a cell.
 */
export function reduceEntries(state: State, entries: readonly Entry[], outputLimit?: number): State {
  const draft = new StateDraft(state, outputLimit);
  for (const entry of entries) applyEntry(draft, entry);
  return draft.finish();
}

/**
 * Replaces the notebook. The agent's part of the state stays; the verdict does not, because it
 * belongs to an attempt at the notebook before.
 */
export function restoreState(state: State, message: NotebookStateMessage): State {
  const draft = new StateDraft(state);
  draft.seq = message.seq;
  draft.verdict = null;
  draft.cells.replaceAll(
    cellsOfWireCells(message.cells).map((cell) => oldCellIfSame(state.notebook.cells[cell.id], cell)),
  );
  resumeExecutions(draft.executions, message.runs);
  return draft.finish();
}

/** Returns the old cell if the new one is the same, so that it stays the same object. */
function oldCellIfSame(old: Cell | undefined, cell: Cell): Cell {
  if (old === undefined || old.type !== cell.type || old.title !== cell.title) return cell;
  return old.rev === cell.rev && old.source === cell.source ? old : cell;
}

function applyEntry(draft: StateDraft, entry: Entry): void {
  const { seq, hop, msg, note } = entry;
  if (msg === null || note === "dropped" || note === "malformed") return;
  switch (hop) {
    case "agent>server":
      applyAgentMessage(draft.agent, seq, msg);
      return;
    case "server>agent":
    case "console>server":
      applyMessageToAgent(draft.agent, seq, msg);
      return;
    case "server>console":
    case "session":
      if (msg.type === "eval_result") draft.verdict = msg;
      if (endedProcess(msg) === "agent") applyAgentExit(draft.agent, seq, msg);
  }
  if (seq !== 0 && seq <= draft.seq) return;
  applyToNotebook(draft, entry, msg);
  draft.seq = Math.max(draft.seq, seq);
}

function applyToNotebook(draft: StateDraft, { seq, hop, at, wall }: Entry, msg: Message): void {
  switch (hop) {
    case "notebook":
      if (msg.type === "notebook_event") applyNotebookEvent(draft, seq, msg, wall);
      return;
    case "kernel>server":
      applyKernelMessage(draft, seq, msg, at);
      return;
    case "server>kernel":
      applyKernelCommand(draft.executions, msg);
      return;
    case "server>console":
    case "session":
      if (endedProcess(msg) === "kernel") applyKernelEnd(draft);
      if (msg.type === "ready" && (msg.kernel_status === "running" || msg.kernel_status === "dead")) {
        draft.kernel = msg.kernel_status;
      }
  }
}

/** Returns the process whose end a message reports; null: none. */
function endedProcess(msg: Message): "kernel" | "agent" | null {
  const name = msg.type === "managed_process_exit" ? msg.name : msg.type === "peer_ended" ? msg.peer : null;
  return name === "kernel" || name === "agent" ? name : null;
}
