// What the page knows of a session. Only the reducer makes it, out of entries of a trace or the
// messages of a live session, which are alike.

import type {
  CellChangeAuthor,
  CellType,
  EvalResult,
  ExecutionStatus,
  MessageOf,
  Output,
  Widget,
} from "../protocol/messages";
import type { OutputBuffer } from "./outputBuffer";
import type { RenderedOutputs } from "./renderedOutputs";

/** The state of a session. Immutable: each change makes a new object. */
export interface State {
  notebook: Notebook;
  agent: Agent;
  /** The newest verdict; null: no attempt has ended since this notebook began. */
  verdict: EvalResult | null;
}

/** The state of a notebook: its cells and what the kernel did with them. */
export interface Notebook {
  /** Number of the newest entry of the trace that is applied; 0: none. */
  seq: number;
  /** Ids of the cells, in order. */
  order: readonly string[];
  cells: Readonly<Record<string, Cell>>;
  /** By cell id; a cell that never ran has none. */
  executions: Readonly<Record<string, Execution>>;
  /** Ids of the cells that wait to run, next first. */
  queue: readonly string[];
  /** "dead" means that the kernel has ended and must be restarted. */
  kernel: "unknown" | "running" | "dead";
  /** Data for the reducer only; absent: none is needed. */
  internals?: NotebookInternals;
}

/** Data of a notebook that only the reducer uses. */
export interface NotebookInternals {
  /** Deleted cells, whose late messages are ignored until they run again. */
  disposed: ReadonlySet<string>;
  /** Bytes of retained large values by cell id, the oldest first; see RetainedValues. */
  retained: ReadonlyMap<string, number>;
}

/** A cell of a notebook. */
export interface Cell {
  id: string;
  type: CellType;
  source: string;
  title: string;
  /** Number of the version: 1 for a new cell, one more with each edit. */
  rev: number;
  /**
   * The last change: who made it, in which entry (0: unknown), and when in milliseconds since
   * 1970 (absent: unknown). Absent if nobody is known to have changed the cell.
   */
  lastChange?: { by: CellChangeAuthor; seq: number; at?: number };
}

/** What the kernel did with one cell. */
export interface Execution {
  /** "running" also while the cell waits for its turn. */
  status: ExecutionStatus;
  /** The cell waits for its turn, or is about to be sent to the kernel. */
  pending: boolean;
  /** The kernel has started the cell and not finished it. */
  started: boolean;
  /** Number of the last execution by the current kernel; 0: none. */
  sequencer: number;
  /** Number of the last execution by any kernel, which the cell shows as [n]. */
  count: number;
  /** Outputs of the last execution, in order. Text of one stream is joined and limited in size. */
  outputs: readonly Output[];
  /** By absolute key, "<cell id>/<key>", in the order in which the kernel made them. */
  widgets: Readonly<Record<string, Widget>>;
  /** Duration of the last execution in milliseconds, measured by the kernel; absent: unknown. */
  durationMs?: number;
  /** The last execution was interrupted; absent: it was not, or that is unknown. */
  interrupted?: true;
  /** Start of the current execution in milliseconds as of performance.now(); absent unless seen live. */
  startedAt?: number;
  /** Data for the reducer only; absent: it is derived from outputs when needed. */
  internals?: ExecutionInternals;
}

/** Data of an execution that only the reducer uses. */
export interface ExecutionInternals {
  /** The outputs as they were received. */
  buffer: OutputBuffer;
  rendered: RenderedOutputs;
  /** The next output replaces all before it. */
  clearPending: boolean;
}

/** What the agent is doing. "gone": its process has ended. */
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

/** Tokens and cost of an agent's conversation so far. */
export type Usage = Omit<MessageOf<"agent_usage_update">, "type" | "seq">;

/** The agent's part of a session's state. */
export interface Agent {
  status: AgentStatus;
  /** Messages, tool calls and events, oldest first. */
  conversation: readonly ConversationItem[];
  /** The reply that is being streamed, block by block; null: none. */
  stream: readonly StreamBlock[] | null;
  usage: Usage | null;
  /** Tokens of the newest prompt and its reply, the used part of the context window; absent: unknown. */
  context?: number;
  /** Id of the query that the agent works on; null: unknown. */
  request: string | null;
  /** Whether a restart was requested and the new agent has not started yet. */
  restarting?: boolean;
  /** Number of the newest entry of the trace that is applied; absent or 0: none. */
  seq?: number;
  /** Number of the entry that cleared the history: what came before is ignored. */
  cleared?: number;
}

/**
 * An item of the conversation. `seq` is its entry in the trace, 0 for what is not in the trace
 * yet. `request` is the id of the query. `query` means that the text is known only from the
 * query: the agent has not repeated it.
 */
export type ConversationItem =
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

/** The result of a tool call: its texts and images, in order. */
export interface ToolResult {
  isError: boolean;
  content: readonly ({ type: "text"; text: string } | { type: "image"; mime: string; data: string })[];
}

/** A block of the reply that the agent is streaming. */
export interface StreamBlock {
  type: "text" | "thinking" | "tool_use";
  /** Name of the called tool; absent for other types. */
  name?: string;
  text: string;
}
