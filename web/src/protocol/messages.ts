// Messages of a session and entries of a trace, as the page reads and sends them. docs/protocol.md
// and docs/consoles.md say what each field means. readMessage and readEntry check what comes in,
// once: an agent or a kernel may send anything.

import {
  anyObject,
  boolean,
  extend,
  integer,
  list,
  nonEmpty,
  nullable,
  number,
  object,
  optional,
  record,
  required,
  type Schema,
  strict,
  string,
  unknown,
  withOtherFields,
} from "../json/schema";
import { type Fields, isObject } from "../json/values";
import * as wire from "./wire.gen";

/** Where an entry of the trace was recorded. */
export type Hop =
  | "agent>server"
  | "server>agent"
  | "kernel>server"
  | "server>kernel"
  | "console>server"
  | "server>console"
  | "agent>model"
  | "model>agent"
  | "notebook"
  | "session";

/** The type of a cell. */
export type CellType = "code" | "markdown";

/** Who changed a cell. "console" means a person at a console. */
export type CellChangeAuthor = "agent" | "console" | "server";

/** What a cell is doing, or how its last execution ended. */
export type ExecutionStatus = "idle" | "running" | "ran" | "error";

/**
 * The end of an execution. Read leniently, as the server reads it: a cell whose result were
 * refused would run forever.
 */
export interface CellResultMessage {
  cell_id: string;
  status: string;
  has_exception: boolean;
  /** A traceback, usually; some kernels send false, a list of lines or an object. */
  exception: unknown;
  /** Milliseconds; absent: the kernel did not say. */
  duration_ms?: number;
}

/** The message with the states of all widgets of a cell by key. */
export interface CellWidgetsMessage {
  cell_id: string;
  widget_state: Readonly<Record<string, unknown>>;
}

/** A content block of the Messages API. Which fields it has depends on its type; unknown fields are as they came. */
export type ContentBlock = Fields & KnownContentFields;

interface KnownContentFields {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  is_error?: boolean;
  content?: unknown;
}

/** A message of the agent's conversation. */
export interface HistoryMessage extends Omit<wire.HistoryEntry, "content" | "usage"> {
  /** Content blocks; a content that is a plain text is read as one text block. */
  content: readonly ContentBlock[];
  /** Tokens of the model call that the message came from. */
  usage?: TokenCounts;
  /** Name of the conversation, if the agent has several. */
  label?: string;
}

/** Tokens of one model call, as the Messages API counts them. */
export interface TokenCounts {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** The result of one grader. */
export interface GraderResult {
  type: string;
  /** Whether the attempt passed; null: the grader reached no verdict. */
  passed: boolean | null;
  /** 0 to 1; null: none. */
  score: number | null;
  /** For people; "" for none. */
  reasoning: string;
  metrics: Fields;
  /** Why the grader reached no verdict; null if it did. */
  error: string | null;
}

/** How an attempt ended. */
export interface EvalResult extends Omit<wire.EvalResultMessage, "type" | "graders" | "duration_ms"> {
  graders: readonly GraderResult[];
  /** null: unknown. */
  duration_ms: number | null;
}

/** The message with the agent's submission, for agents that submit without a tool call. */
export interface AgentResult {
  structured_output: unknown;
}

/** A message about the process, or the connection, of the kernel or the agent. */
export interface ProcessMessage {
  /** "kernel" or "agent". */
  name: string;
}

/** The end of the connection to the kernel or the agent. */
export interface PeerEndedMessage {
  /** "kernel" or "agent". */
  peer: string;
  reason: string;
}

/** A change of the session's state. */
export interface SessionStateMessage {
  state: string;
}

/** The message that says who holds the notebook from now on. */
export interface HolderMessage {
  /** "server" or "console". */
  by: string;
}

/** A snapshot of the notebook, which a view receives first and the API returns. */
export interface NotebookStateMessage extends wire.NotebookSnapshot {
  seq: number;
}

/** The answer to notebook_action. */
export interface NotebookActionResponse extends wire.ActionResponse {
  /** Id of the cell that was created or changed. */
  cell_id?: string;
  /** Source and rev of the cell, if the action named another rev. */
  source?: string;
  rev?: number;
}

/** The fields of a response to a request at /run. */
interface RunResponseFields {
  /** The id of the request, in one of the two. */
  tx_id?: string;
  agent_tx_id?: string;
  status: string;
  error?: string;
}

/** The answer to set_widget_value. */
export interface SetWidgetResponse extends RunResponseFields {
  /** By widget key: why the kernel refused the value. */
  errors: Readonly<Record<string, string>>;
}

/** The answer to globals_summary: the kernel's variables. */
export interface GlobalsSummary extends RunResponseFields {
  /** By variable name. docs/kernel.md describes the fields. */
  summary: Readonly<Record<string, Fields>>;
  /** Not all variables are listed. */
  truncated: boolean;
  /** The kernel was too busy: the summary is age_ms old. */
  stale: boolean;
  age_ms: number;
}

/** The answer to reactivity_summary: which cells define and use which signals. */
export interface ReactivitySummary extends RunResponseFields {
  /** For people. */
  summary: string;
  /** By cell id. */
  cell_reactivity: Readonly<Record<string, CellReactivity>>;
}

/** The signals that one cell defines, and the signals and cells that it depends on. */
export interface CellReactivity {
  signals_defined: readonly string[];
  depends_on_signals: readonly string[];
  depends_on_cells: readonly string[];
}

/** An error of a grader is {kind, text} or a string. */
const graderError: Schema<string> = {
  parse(value) {
    if (!isObject(value)) return string.parse(value);
    const parts = [value.kind, value.text].filter((part) => typeof part === "string" && part !== "");
    return parts.join(": ") || "of no kind";
  },
};

/** Schema of the result of one grader. */
export const graderResultSchema = object<GraderResult>({
  type: string,
  passed: nullable(boolean),
  score: nullable(number),
  reasoning: string,
  metrics: record(unknown),
  error: nullable(graderError),
});

const contentBlockSchema: Schema<ContentBlock> = withOtherFields(
  object<KnownContentFields>({
    type: string,
    text: optional(string),
    thinking: optional(string),
    id: optional(string),
    name: optional(string),
    input: optional(unknown),
    tool_use_id: optional(string),
    is_error: optional(boolean),
    content: optional(unknown),
  }),
);

const contentBlocks = list(contentBlockSchema);

const historyMessageSchema = extend<wire.HistoryEntry, Pick<HistoryMessage, "content" | "label" | "usage">>(
  wire.historyEntrySchema,
  {
    content: {
      parse(value) {
        if (typeof value !== "string") return contentBlocks.parse(value);
        return value === "" ? [] : [{ type: "text", text: value }];
      },
      fallback: [],
    },
    label: optional(string),
    usage: optional(
      object<TokenCounts>({
        input_tokens: integer,
        output_tokens: integer,
        cache_read_input_tokens: integer,
        cache_creation_input_tokens: integer,
      }),
    ),
  },
);

const cellReactivitySchema = object<CellReactivity>({
  signals_defined: list(string),
  depends_on_signals: list(string),
  depends_on_cells: list(string),
});

/** The text of an error is in data.message or, from the agent, in error. */
const errorMessageSchema = extend<wire.ErrorMessage, { error?: string }>(wire.errorMessageSchema, {
  error: optional(string),
});

const processMessageSchema = object<ProcessMessage>({ name: string });

const runResponseFieldSchemas = {
  tx_id: optional(string),
  agent_tx_id: optional(string),
  status: string,
  error: optional(string),
};

const messageSchemas = {
  // The kernel and the commands to it.
  start_cell: wire.startCellSchema,
  kernel_stdio: wire.kernelStdioSchema,
  cell_output: wire.cellOutputSchema,
  cell_result: object<CellResultMessage>({
    cell_id: required(nonEmpty),
    status: string,
    has_exception: boolean,
    exception: unknown,
    duration_ms: optional(number),
  }),
  run_queue: wire.runQueueSchema,
  cell_widgets: strict<CellWidgetsMessage>({ cell_id: required(nonEmpty), widget_state: required(record(unknown)) }),
  run_cell: wire.cellCommandSchema,
  dispose_cell: wire.cellCommandSchema,
  stop_cell: wire.cellCommandSchema,

  // The notebook.
  notebook_event: wire.notebookEventSchema,
  notebook_state: object<NotebookStateMessage>({
    seq: integer,
    cells: list(wire.wireCellSchema),
    runs: wire.executionsSnapshotSchema,
  }),

  // The agent.
  init: wire.agentInitSchema,
  agent_query: wire.agentQuerySchema,
  agent_cancel: wire.agentCommandSchema,
  agent_clear_history: wire.agentCommandSchema,
  agent_action: anyObject, // checked by ActionParams, which tells the agent what is wrong
  agent_action_response: wire.actionResponseSchema,
  agent_status: wire.agentStatusSchema,
  agent_event: wire.agentEventSchema,
  agent_error: wire.agentErrorSchema,
  agent_history_updated: extend<wire.HistoryUpdated, { entry?: HistoryMessage }>(wire.historyUpdatedSchema, {
    entry: optional(historyMessageSchema),
  }),
  agent_result: object<AgentResult>({ structured_output: unknown }),
  agent_usage_update: wire.usageUpdateSchema,
  agent_stream_start: wire.streamFrameSchema,
  agent_stream_block_start: wire.streamFrameSchema,
  agent_stream_delta: wire.streamFrameSchema,
  agent_stream_complete: wire.streamFrameSchema,

  // The session.
  ready: wire.readyMessageSchema,
  managed_process_exit: wire.managedProcessExitSchema,
  managed_process_restart: processMessageSchema,
  peer_ended: object<PeerEndedMessage>({ peer: string, reason: string }),
  state: object<SessionStateMessage>({ state: string }),
  holder: object<HolderMessage>({ by: string }),
  eval_result: extend<wire.EvalResultMessage, Pick<EvalResult, "graders" | "duration_ms">>(
    wire.evalResultMessageSchema,
    {
      graders: list(graderResultSchema),
      duration_ms: nullable(integer),
    },
  ),

  // Answers to a console.
  alive: wire.aliveMessageSchema,
  error: errorMessageSchema,
  not_session_owner_error: errorMessageSchema,
  notebook_action_response: object<NotebookActionResponse>({
    type: string,
    tx_id: string,
    status: string,
    error: optional(string),
    cell_id: optional(string),
    source: optional(string),
    rev: optional(integer),
  }),
  set_widget_value_response: object<SetWidgetResponse>({ ...runResponseFieldSchemas, errors: record(string) }),
  globals_summary: object<GlobalsSummary>({
    ...runResponseFieldSchemas,
    summary: record(anyObject),
    truncated: boolean,
    stale: boolean,
    age_ms: number,
  }),
  reactivity_summary: object<ReactivitySummary>({
    ...runResponseFieldSchemas,
    summary: string,
    cell_reactivity: record(cellReactivitySchema),
  }),
};

/** The type of a message that the page reads. */
export type MessageType = keyof typeof messageSchemas;

/** The checked message of one type. seq is its entry in the trace; absent: the message does not say. */
export type MessageOf<K extends MessageType> = K extends MessageType
  ? Omit<(typeof messageSchemas)[K] extends Schema<infer T> ? T : never, "type"> & { type: K; seq?: number }
  : never;

/** A message that the page does not read: its type is unknown, or its fields are not what the type requires. */
export interface OtherMessage {
  type: "other";
  /** The type that the message names. */
  name: string;
  seq?: number;
}

/** A checked message. */
export type Message = MessageOf<MessageType> | OtherMessage;

/** A message that the page sends. */
export interface OutgoingMessage {
  type: string;
  [field: string]: unknown;
}

/** Checks a message; null if the value is not an object with a type. */
export function readMessage(value: unknown): Message | null {
  if (!isObject(value) || typeof value.type !== "string") return null;
  const name = value.type;
  const seq = integer.parse(value.seq);
  const numbered = seq === undefined ? {} : { seq };
  const schema: Schema<object> | undefined = Object.hasOwn(messageSchemas, name)
    ? messageSchemas[name as MessageType]
    : undefined;
  const parsed = schema?.parse(value);
  if (parsed === undefined) return { type: "other", name, ...numbered };
  return { ...parsed, ...numbered, type: name as MessageType } as Message;
}

/** Returns the type in a message, also if the page does not read messages of that type. */
export function typeOfMessage(message: Message): string {
  return message.type === "other" ? message.name : message.type;
}

/** An entry of the trace, or a message of a live session with the hop that it came by. */
export interface Entry {
  /** Number of the entry, from 1; 0 for a live message that does not say. */
  seq: number;
  hop: Hop;
  /** null: the entry has none, because the entry `ref` has the same. */
  msg: Message | null;
  /** Type of the message, and the cell that it is about; absent in live messages. */
  type?: string;
  cell_id?: string;
  /** Nanoseconds since the trace began; absent in live messages. */
  t_ns?: number;
  /** Time of day, RFC 3339; absent in live messages. */
  wall?: string;
  /** What is unusual about it, such as "dropped" or "late". */
  note?: string;
  /** The entry with the same message. */
  ref?: number;
  /** The entry that this one was made out of. */
  cause?: number;
  /** Time at which a live message came, in milliseconds as of performance.now(). */
  at?: number;
}

const entrySchema = object<Entry>({
  seq: required(integer),
  hop: required(nonEmpty as Schema<Hop>),
  msg: nullable({ parse: (value: unknown) => readMessage(value) ?? undefined }),
  type: optional(string),
  cell_id: optional(string),
  t_ns: optional(number),
  wall: optional(string),
  note: optional(string),
  ref: optional(integer),
  cause: optional(integer),
  at: optional(number),
});

/** Checks an entry of a trace; null if the value is not an object with a seq and a hop. */
export function readEntry(value: unknown): Entry | null {
  return entrySchema.parse(value) ?? null;
}

/** Checks some entries and leaves out what is not one. */
export function readEntries(values: readonly unknown[]): Entry[] {
  return values.flatMap((value) => readEntry(value) ?? []);
}

/** An nbformat 4 output. A text of several lines may be a list of them. */
export type Output =
  | { output_type: "stream"; name: "stdout" | "stderr"; text: string | string[] }
  | RichOutput
  | { output_type: "error"; ename: string; evalue: string; traceback: string[] };

/** An output with values in one or more MIME types. */
export interface RichOutput {
  output_type: "display_data" | "execute_result";
  data: MimeBundle;
  metadata: Record<string, unknown>;
  execution_count?: number | null;
  transient?: { display_id?: string };
}

/** Values by MIME type: text, base64 of binary data, or JSON. {mime, bytes} stands for a value that was left out. */
export type MimeBundle = Record<string, unknown>;

/** The state of a widget. */
export interface Widget {
  /** The Python name without "w_", such as "slider"; "" if the kernel sent none. */
  type: string;
  label?: string;
  readonly?: boolean;
  default?: unknown;
  value?: unknown;
  appearance?: Record<string, unknown>;
  [field: string]: unknown;
}
