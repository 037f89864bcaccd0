// Code generated from Go structs by `go test ./web -update`. DO NOT EDIT.

import { boolean, integer, list, listOfAll, nullable, number, object, optional, record, strict, string, unknown } from "../json/schema";

/** StartCell is the kernel's message that a run of a cell has started. */
export interface StartCell {
  type: string;
  /** nil: the kernel is idle */
  cell_id: string | null;
  /** number of the run, rising */
  run_sequencer: number;
}

export const startCellSchema = /* @__PURE__ */ strict<StartCell>({
  type: string,
  cell_id: nullable(string),
  run_sequencer: integer,
});

/** KernelStdio is the kernel's message with text that a run has printed. */
export interface KernelStdio {
  type: string;
  /** nil: it was written outside of runs */
  active_cell: string | null;
  /** Stdout or Stderr */
  stream: string;
  /** the text */
  data: string;
}

export const kernelStdioSchema = /* @__PURE__ */ object<KernelStdio>({
  type: string,
  active_cell: nullable(string),
  stream: string,
  data: string,
});

/**
 * CellOutput is the kernel's message with one output of a run: an nbformat 4 output, or
 * clear_output.
 */
export interface CellOutput {
  type: string;
  cell_id: string;
  run_sequencer: number;
  output: unknown;
}

export const cellOutputSchema = /* @__PURE__ */ object<CellOutput>({
  type: string,
  cell_id: string,
  run_sequencer: number,
  output: unknown,
});

/** RunQueue is the kernel's message that names the cells waiting to run, in order. */
export interface RunQueue {
  type: string;
  /** cell ids */
  queue: readonly string[];
}

export const runQueueSchema = /* @__PURE__ */ strict<RunQueue>({
  type: string,
  queue: listOfAll(string),
});

/**
 * CellCommand is a message to the kernel about one cell: run_cell (with Code), stop_cell or
 * dispose_cell.
 */
export interface CellCommand {
  type: string;
  cell_id?: string;
  /** of stop_cell: the execute_code to interrupt, in place of a cell */
  agent_tx_id?: string;
  /** of run_cell; may be the empty string */
  code?: string;
}

export const cellCommandSchema = /* @__PURE__ */ object<CellCommand>({
  type: string,
  cell_id: optional(string),
  agent_tx_id: optional(string),
  code: optional(string),
});

/** AgentInit is the message that an agent is sent once, after its ready message. */
export interface AgentInit {
  type: string;
  session_id: number;
  /** the agent works on a case */
  eval_mode: boolean;
  strategy?: string;
  /** of the kernel, from its ready */
  language?: string;
  /** of the attempt, an object; nil: none */
  limits?: unknown;
}

export const agentInitSchema = /* @__PURE__ */ object<AgentInit>({
  type: string,
  session_id: number,
  eval_mode: boolean,
  strategy: optional(string),
  language: optional(string),
  limits: optional(unknown),
});

/** AgentQuery is the message that gives the agent a task or a further prompt. */
export interface AgentQuery {
  type: string;
  query: string;
  request_id: string;
  /** ContextualNodeData is a list of files, which the model is shown behind the prompt. */
  contextual_node_data?: unknown;
}

export const agentQuerySchema = /* @__PURE__ */ object<AgentQuery>({
  type: string,
  query: string,
  request_id: string,
  contextual_node_data: optional(unknown),
});

/**
 * AgentCommand is the message agent_cancel, which stops the work on the query RequestID, or
 * agent_clear_history.
 */
export interface AgentCommand {
  type: string;
  /** of the query to cancel */
  request_id?: string;
}

export const agentCommandSchema = /* @__PURE__ */ object<AgentCommand>({
  type: string,
  request_id: optional(string),
});

/** AgentAction is a request of the agent to the notebook or the kernel, such as create_cell. */
export interface AgentAction {
  type: string;
  action: string;
  params: unknown;
  /** empty: no answer is wanted */
  tx_id?: string;
}

export const agentActionSchema = /* @__PURE__ */ object<AgentAction>({
  type: string,
  action: string,
  params: unknown,
  tx_id: optional(string),
});

/**
 * ActionResponse has the fields that all answers to an [AgentAction] share. An answer may have
 * more fields, which depend on the action.
 */
export interface ActionResponse {
  type: string;
  tx_id: string;
  /** StatusSuccess or StatusError */
  status: string;
  error?: string;
}

export const actionResponseSchema = /* @__PURE__ */ object<ActionResponse>({
  type: string,
  tx_id: string,
  status: string,
  error: optional(string),
});

/** AgentStatus is the agent's message that says what it is doing, such as thinking or done. */
export interface AgentStatus {
  type: string;
  /** one of the constants AgentReady to AgentDone */
  status: string;
}

export const agentStatusSchema = /* @__PURE__ */ object<AgentStatus>({
  type: string,
  status: string,
});

/**
 * AgentEvent is the agent's message with a text for people, such as that it repeats a model
 * call.
 */
export interface AgentEvent {
  type: string;
  /** "ai" or "py" */
  channel: string;
  /** "NL" or "PY" */
  mode: string;
  /** for people */
  text: string;
  /** "type": response, ai_exec, ai_exec_result, tick, retry, waiting, compacted, limit, cancelled or ended */
  metadata: Readonly<Record<string, unknown>>;
}

export const agentEventSchema = /* @__PURE__ */ object<AgentEvent>({
  type: string,
  channel: string,
  mode: string,
  text: string,
  metadata: record(unknown),
});

/**
 * AgentError is the agent's message that something has failed. A fatal error ends the work on
 * the query, and with it an attempt; in a live session the agent goes on with the next query.
 */
export interface AgentError {
  type: string;
  error: string;
  fatal: boolean;
}

export const agentErrorSchema = /* @__PURE__ */ object<AgentError>({
  type: string,
  error: string,
  fatal: boolean,
});

/** HistoryEntry is one message of the agent's conversation with its model. */
export interface HistoryEntry {
  /** HistoryEntryTypeAnthropicMessage */
  type: string;
  /** user or assistant */
  role: string;
  /** a text, or content blocks of Anthropic's Messages API */
  content: unknown;
  /** RFC 3339 */
  timestamp: string;
  /** of the query that it belongs to */
  request_id?: string;
  /** of the model call that an assistant's message came from, with Anthropic's fields */
  usage?: unknown;
}

export const historyEntrySchema = /* @__PURE__ */ object<HistoryEntry>({
  type: string,
  role: string,
  content: unknown,
  timestamp: string,
  request_id: optional(string),
  usage: optional(unknown),
});

/**
 * HistoryUpdated is the agent's message that it has added a message to its conversation with
 * the model.
 */
export interface HistoryUpdated {
  type: string;
  session_id?: string;
  /** of the query that it belongs to */
  request_id?: string;
  /** a [HistoryEntry] */
  entry?: HistoryEntry;
}

export const historyUpdatedSchema = /* @__PURE__ */ object<HistoryUpdated>({
  type: string,
  session_id: optional(string),
  request_id: optional(string),
  entry: optional(historyEntrySchema),
});

/**
 * StreamFrame is any of the agent_stream_* messages, which carry the model's reply while it
 * arrives: start (with Timestamp), block_start, delta, block_stop and complete. BlockIndex is
 * set in the three that are about a content block.
 */
export interface StreamFrame {
  type: string;
  /** RFC 3339 */
  timestamp?: string;
  /** from 0 */
  block_index?: number;
  /** text, thinking or tool_use */
  block_type?: string;
  /** of a tool_use */
  block_id?: string;
  /** the tool's name */
  block_name?: string;
  /** the next piece of the block */
  delta?: string;
  /** of complete: why the reply broke off */
  error?: string;
}

export const streamFrameSchema = /* @__PURE__ */ object<StreamFrame>({
  type: string,
  timestamp: optional(string),
  block_index: optional(number),
  block_type: optional(string),
  block_id: optional(string),
  block_name: optional(string),
  delta: optional(string),
  error: optional(string),
});

/**
 * UsageUpdate is the agent's message with the tokens and the cost in US dollars that its
 * conversation has used so far.
 */
export interface UsageUpdate {
  type: string;
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  /** how many tokens the model takes */
  context_limit: number;
  /** nil: the model's price is unknown */
  cost_usd?: number;
}

export const usageUpdateSchema = /* @__PURE__ */ object<UsageUpdate>({
  type: string,
  input_tokens: number,
  output_tokens: number,
  cache_read_input_tokens: number,
  cache_creation_input_tokens: number,
  context_limit: number,
  cost_usd: optional(number),
});

/** ErrorResponseData has the text of an [ErrorResponse]. */
export interface ErrorResponseData {
  message: string;
}

export const errorResponseDataSchema = /* @__PURE__ */ object<ErrorResponseData>({
  message: string,
});

/**
 * ErrorResponse is the message by which the kernel or the server reports that it cannot carry
 * out another message.
 */
export interface ErrorMessage {
  type: string;
  /** of the request, at /agent */
  tx_id?: string;
  /** of the request, at /run */
  agent_tx_id?: string;
  data: ErrorResponseData;
}

export const errorMessageSchema = /* @__PURE__ */ object<ErrorMessage>({
  type: string,
  tx_id: optional(string),
  agent_tx_id: optional(string),
  data: errorResponseDataSchema,
});

/**
 * ManagedProcessExit is the message that tells the consoles how the kernel's or agent's process
 * has ended.
 */
export interface ManagedProcessExit {
  type: string;
  /** "kernel" or "agent" */
  name: string;
  exit_code: number;
  /** that killed it; empty: it exited by itself */
  signal: string;
}

export const managedProcessExitSchema = /* @__PURE__ */ object<ManagedProcessExit>({
  type: string,
  name: string,
  exit_code: number,
  signal: string,
});

/** Cell is one cell of a notebook: id, type, source and title. Its outputs are in [Executions]. */
export interface WireCell {
  cell_id: string;
  /** CodeCell or MarkdownCell */
  cell_type: string;
  source: string;
  /** may be empty */
  display_name: string;
  /** 1 when created, one more with each edit */
  rev: number;
  /** who changed it last: one of the constants ByAgent to ByServer; empty: unknown */
  by?: string;
}

export const wireCellSchema = /* @__PURE__ */ strict<WireCell>({
  cell_id: string,
  cell_type: string,
  source: string,
  display_name: string,
  rev: integer,
  by: optional(string),
});

/**
 * ExecutionsSnapshot is the state of all cells' runs at one moment, in JSON, for a console that
 * was just attached. The maps are by cell id. It shares no memory that changes.
 */
export interface ExecutionsSnapshot {
  /** one of the Status constants */
  cell_status: Readonly<Record<string, string>>;
  /** number of the last run that the present kernel started */
  cell_sequencers: Readonly<Record<string, number>>;
  /** nbformat outputs of the last run */
  cell_outputs: Readonly<Record<string, readonly unknown[]>>;
  /** ids of the cells that wait for the kernel */
  run_queue: readonly string[];
  cell_widgets: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * ExecutionCounts has the number of the last run that any kernel started: a cell
   * goes on showing it when the kernel is gone.
   */
  cell_counts: Readonly<Record<string, number>>;
  /**
   * DurationsMS has how long the last run took, in milliseconds, if the kernel has
   * said so.
   */
  cell_durations: Readonly<Record<string, number>>;
}

export const executionsSnapshotSchema = /* @__PURE__ */ object<ExecutionsSnapshot>({
  cell_status: record(string),
  cell_sequencers: record(number),
  cell_outputs: record(list(unknown)),
  run_queue: list(string),
  cell_widgets: record(record(unknown)),
  cell_counts: record(number),
  cell_durations: record(number),
});

/**
 * State is a whole notebook at one moment: its cells and the results of their runs. A console
 * gets it when it is attached, and a session can be restored from it.
 */
export interface NotebookSnapshot {
  /** in order, never nil */
  cells: readonly WireCell[];
  runs: ExecutionsSnapshot;
}

export const notebookSnapshotSchema = /* @__PURE__ */ object<NotebookSnapshot>({
  cells: list(wireCellSchema),
  runs: executionsSnapshotSchema,
});

/** Event is one change of the notebook's cells. Which fields are set depends on Kind. */
export interface NotebookEvent {
  /** EventType */
  type: string;
  /** one of the constants CellCreated to NotebookRestored */
  event: string;
  /** ByAgent, ByConsole or ByServer; empty in old traces */
  by?: string;
  cell?: WireCell;
  /** from 0 */
  position?: number;
  cell_id?: string;
  source?: string;
  /** of the cell after the change */
  rev?: number;
  state?: NotebookSnapshot;
}

export const notebookEventSchema = /* @__PURE__ */ strict<NotebookEvent>({
  type: string,
  event: string,
  by: optional(string),
  cell: optional(wireCellSchema),
  position: optional(integer),
  cell_id: optional(string),
  source: optional(string),
  rev: optional(integer),
  state: optional(notebookSnapshotSchema),
});

/**
 * AliveMessage tells a console that asked for it (HelloMessage.WantsAlive) that its
 * connection is alive. It is not recorded in the trace.
 */
export interface AliveMessage {
  /** alive */
  type: string;
  /** interval until the next one, in ms */
  every_ms: number;
}

export const aliveMessageSchema = /* @__PURE__ */ object<AliveMessage>({
  type: string,
  every_ms: number,
});

/**
 * ReadyMessage is the first message that the server sends at /run for each session
 * that the console is connected to: the session's state so far.
 */
export interface ReadyMessage {
  /** ready */
  type: string;
  /** the console's number, from 1 */
  connection_idx: number;
  /** running or dead */
  kernel_status: string;
  /** 0: no kernel was started */
  kernel_pid: number;
  /** the console may restart the kernel and write to it */
  session_owner: boolean;
  /** of the kernel */
  language: string;
  /** path of the trace, which identifies the session */
  trace?: string;
  /** of the attempt that the session belongs to; absent: none */
  case_id?: string;
  /** one of the Status constants */
  cell_status?: Readonly<Record<string, string>>;
  /** number of the last run that the present kernel started */
  cell_sequencers?: Readonly<Record<string, number>>;
  /** nbformat outputs of the last run */
  cell_outputs?: Readonly<Record<string, readonly unknown[]>>;
  /** ids of the cells that wait for the kernel */
  run_queue?: readonly string[];
  cell_widgets?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * ExecutionCounts has the number of the last run that any kernel started: a cell
   * goes on showing it when the kernel is gone.
   */
  cell_counts?: Readonly<Record<string, number>>;
  /**
   * DurationsMS has how long the last run took, in milliseconds, if the kernel has
   * said so.
   */
  cell_durations?: Readonly<Record<string, number>>;
}

export const readyMessageSchema = /* @__PURE__ */ object<ReadyMessage>({
  type: string,
  connection_idx: number,
  kernel_status: string,
  kernel_pid: number,
  session_owner: boolean,
  language: string,
  trace: optional(string),
  case_id: optional(string),
  cell_status: optional(record(string)),
  cell_sequencers: optional(record(number)),
  cell_outputs: optional(record(list(unknown))),
  run_queue: optional(list(string)),
  cell_widgets: optional(record(record(unknown))),
  cell_counts: optional(record(number)),
  cell_durations: optional(record(number)),
});

/**
 * EvalResultMessage tells consoles at /agent how an attempt has ended. Its fields are
 * those of [runs.Attempt].
 */
export interface EvalResultMessage {
  /** eval_result */
  type: string;
  case_id: string;
  outcome: string;
  outcome_detail: string;
  passed: boolean | null;
  score: number | null;
  graders: readonly unknown[];
  answer: unknown;
  duration_ms: number;
}

export const evalResultMessageSchema = /* @__PURE__ */ object<EvalResultMessage>({
  type: string,
  case_id: string,
  outcome: string,
  outcome_detail: string,
  passed: nullable(boolean),
  score: nullable(number),
  graders: list(unknown),
  answer: unknown,
  duration_ms: number,
});
