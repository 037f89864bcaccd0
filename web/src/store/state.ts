// What the page knows of a session. It is made by the reducer alone, out of
// entries of the trace or the frames of a live session, which are the same.

import type { By, CellType, EvalResult, Output, RunStatus, Usage, Widget } from "../protocol/messages";
import type { Showing } from "./shown";
import type { Tape } from "./tape";

export interface State {
  notebook: Notebook;
  agent: Agent;
  /** The newest verdict; null: no attempt has ended since the notebook was begun. */
  verdict: EvalResult | null;
}

export interface Notebook {
  /** The entry of the trace that this is the state after; 0: nothing is known yet. */
  seq: number;
  /** Ids of the cells, in order. */
  order: readonly string[];
  cells: Readonly<Record<string, Cell>>;
  /** By cell id; a cell that never ran has none. */
  runs: Readonly<Record<string, Run>>;
  /** Ids of cells that wait to run, next first. */
  queue: readonly string[];
  /** running: the kernel is there; dead: it is gone, and a restart brings another. */
  kernel: "unknown" | "running" | "dead";
  /** What only the reducer needs; absent: nothing. */
  memory?: NotebookMemory;
}

export interface NotebookMemory {
  /** Cells of which nothing more is to be heard, until they are run again. */
  disposed: ReadonlySet<string>;
  /** Bytes of large values that are held, by cell id, what has been held longest first. */
  held: ReadonlyMap<string, number>;
}

export interface Cell {
  id: string;
  type: CellType;
  source: string;
  title: string;
  rev: number;
  /**
   * Who changed it last, and with which entry, 0: that is not known; absent: nobody, as
   * far as is known. `at`: when, in milliseconds since 1970; absent: the entry does not tell.
   */
  touched?: { by: By; seq: number; at?: number };
}

export interface Run {
  /** running also while it waits. */
  status: RunStatus;
  /** It waits for its turn, or is about to be sent. */
  pending: boolean;
  /** It has begun and not ended. */
  started: boolean;
  /** Number of the last run that this kernel started, 0: none. */
  sequencer: number;
  /** Number of the last run that any kernel started: what a cell shows as [n]. */
  count: number;
  /** Of the last run, in order; text of one stream is merged, and bounded. */
  outputs: readonly Output[];
  /** By absolute key, "<cell id>/<key>", in the order in which they were made. */
  widgets: Readonly<Record<string, Widget>>;
  /** Of the last run, in milliseconds, as the kernel measured it. */
  durationMs?: number;
  /** The last run was stopped before it ended; absent: it was not, or that is not known. */
  interrupted?: true;
  /** When the run that goes on began, in milliseconds as of performance.now(); only of one seen live. */
  startedAt?: number;
  /** What only the reducer needs; absent: what outputs tell. */
  memory?: RunMemory;
}

export interface RunMemory {
  /** What outputs was made of. */
  tape: Tape;
  shown: Showing;
  /** The next output takes the place of all before it. */
  clearing: boolean;
}

export type AgentStatus =
  | "starting"
  | "ready"
  | "thinking"
  | "executing"
  | "awaiting_user_response"
  | "awaiting_cell_execution"
  | "awaiting_user_widget_input"
  | "done"
  | "gone";

export interface Agent {
  status: AgentStatus;
  /** What was said and done, oldest first. */
  conversation: readonly Item[];
  /** The reply that is arriving, block by block; null: none is. */
  stream: readonly StreamBlock[] | null;
  usage: Usage | null;
  /** Tokens of the newest prompt and its reply: what the conversation takes of the context; absent: not known. */
  context?: number;
  /** Id of the query it works on; null: none is known. */
  request: string | null;
  /** Somebody has asked for another agent in its place; absent: nobody has, or it is there. */
  restarting?: boolean;
  /** The newest entry that it is made of; absent or 0: none is. */
  seq?: number;
  /** The entry before which all was forgotten. */
  cleared?: number;
}

/**
 * One thing in the conversation. `seq` is its entry of the trace, 0 for what is not
 * in one yet. `request` is the query's id; `query`: only the query tells of it, the
 * agent has not repeated it.
 */
export type Item =
  | {
      kind: "text";
      seq: number;
      role: "user" | "assistant";
      text: string;
      label?: string;
      request?: string;
      query?: boolean;
    }
  | { kind: "thinking"; seq: number; text: string }
  | { kind: "tool"; seq: number; id: string; name: string; input: unknown; result?: ToolResult; label?: string }
  | { kind: "event"; seq: number; event: string; text: string; metadata: Readonly<Record<string, unknown>> }
  | { kind: "error"; seq: number; text: string; fatal: boolean };

/** What a tool gave: the texts and images of its content, in order. */
export interface ToolResult {
  isError: boolean;
  content: readonly ({ type: "text"; text: string } | { type: "image"; mime: string; data: string })[];
}

export interface StreamBlock {
  type: "text" | "thinking" | "tool_use";
  name?: string;
  text: string;
}
