import { isObject, numberOrZero } from "../json/read";
import { emptyRecord } from "../json/record";
import type { Entry, NotebookStateMessage } from "../protocol/messages";
import { foldAgent, foldAgentEnd, foldToAgent } from "./agent";
import { cellsOf, foldEvent } from "./document";
import { Draft } from "./draft";
import { resumeRuns } from "./restore";
import { foldCommand, foldEnd, foldFrame } from "./runs";
import type { Cell, Run, State } from "./state";
import { verdictOf } from "./verdict";

/** What is known before anything was said. */
export const initial: State = {
  notebook: {
    seq: 0,
    order: [],
    cells: emptyRecord<Cell>(),
    runs: emptyRecord<Run>(),
    queue: [],
    kernel: "unknown",
  },
  agent: { status: "starting", conversation: [], stream: null, usage: null, request: null },
  verdict: null,
};

/** The state after one more entry. */
export function reduce(state: State, entry: Entry): State {
  return reduceAll(state, [entry]);
}

/** The state after more entries, in their order; it costs less than one after the other. textLimit: bytes of outputs of a cell. */
export function reduceAll(state: State, entries: readonly Entry[], textLimit?: number): State {
  const draft = new Draft(state, textLimit);
  for (const entry of entries) fold(draft, entry);
  return draft.finish();
}

/**
 * The state when another notebook has taken the place of the one there was. The
 * agent's part stays; a verdict, which is of an attempt at a notebook, does not.
 */
export function restore(state: State, message: NotebookStateMessage): State {
  const draft = new Draft(state);
  draft.seq = numberOrZero(message.seq);
  draft.verdict = null;
  draft.cells.replace(cellsOf(message.cells).map((cell) => keep(state.notebook.cells[cell.id], cell)));
  resumeRuns(draft.runs, isObject(message.runs) ? message.runs : {});
  return draft.finish();
}

/** The cell that was there, where the other one is the same. */
function keep(old: Cell | undefined, cell: Cell): Cell {
  if (old === undefined || old.type !== cell.type || old.title !== cell.title) return cell;
  return old.rev === cell.rev && old.source === cell.source ? old : cell;
}

function fold(draft: Draft, entry: Entry): void {
  const { hop, msg, note } = entry;
  if (!isObject(msg) || note === "dropped" || note === "malformed") return;
  const seq = numberOrZero(entry.seq);
  switch (hop) {
    case "agent>server":
      foldAgent(draft.agent, seq, msg);
      return;
    case "server>agent":
    case "console>server":
      foldToAgent(draft.agent, seq, msg);
      return;
    case "server>console":
    case "session":
      if (msg.type === "eval_result") draft.verdict = verdictOf(msg);
      if (endOf(msg) === "agent") foldAgentEnd(draft.agent, seq, msg);
  }
  if (seq !== 0 && seq <= draft.seq) return;
  foldNotebook(draft, seq, entry);
  draft.seq = Math.max(draft.seq, seq);
}

function foldNotebook(draft: Draft, seq: number, { hop, msg, at, wall }: Entry): void {
  switch (hop) {
    case "notebook":
      foldEvent(draft, seq, msg, wall);
      return;
    case "kernel>server":
      foldFrame(draft, seq, msg, at);
      return;
    case "server>kernel":
      foldCommand(draft.runs, msg);
      return;
    case "server>console":
    case "session":
      if (endOf(msg) === "kernel") foldEnd(draft);
      if (msg.type === "ready" && (msg.kernel_status === "running" || msg.kernel_status === "dead")) {
        draft.kernel = msg.kernel_status;
      }
  }
}

/** What has ended by a message; null: nothing. */
function endOf(msg: Entry["msg"]): "kernel" | "agent" | null {
  const who = msg.type === "managed_process_exit" ? msg.name : msg.type === "peer_ended" ? msg.peer : null;
  return who === "kernel" || who === "agent" ? who : null;
}
