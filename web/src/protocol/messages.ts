// What crosses the sockets, as far as the page reads it. docs/protocol.md and
// docs/consoles.md say what each field means; fields that are not here are passed
// over, and any field of an agent's or a kernel's making may be of another type
// than it should be: whoever folds a message checks what it uses.

/** Where an entry of the trace was seen. */
export type Hop =
  | "agent>server"
  | "server>agent"
  | "kernel>server"
  | "server>kernel"
  | "console>server"
  | "server>console"
  | "notebook"
  | "session";

export interface Message {
  type: string;
  [field: string]: unknown;
}

/** An entry of the trace, or a frame of a live session with the hop it came by. */
export interface Entry {
  seq: number;
  hop: Hop;
  msg: Message;
  /** Nanoseconds since the trace began; absent in frames of a live session. */
  t_ns?: number;
  /** Time of day, RFC 3339; absent in frames of a live session. */
  wall?: string;
  note?: string;
  ref?: number;
  cause?: number;
  /** When a live frame came, in milliseconds as of performance.now(). */
  at?: number;
}

export type CellType = "code" | "markdown";
export type By = "agent" | "console" | "server";

/** A cell as notebook_state and cell_created have it. */
export interface WireCell {
  cell_id: string;
  cell_type: CellType;
  source: string;
  display_name: string;
  rev: number;
  /** Who changed it last; absent: that is not known. */
  by?: By;
}

/** The kinds of notebook_event, and what each has beside `type`, `event` and `by`. */
export type NotebookEvent = { type: "notebook_event"; by?: By; seq?: number } & (
  | { event: "cell_created"; cell: WireCell; position: number }
  | { event: "cell_edited"; cell_id: string; source: string; rev: number }
  | { event: "cell_deleted"; cell_id: string }
  | { event: "cell_moved"; cell_id: string; position: number }
  | { event: "notebook_restored"; state: { cells: WireCell[]; runs: WireRuns } }
);

export type RunStatus = "idle" | "running" | "ran" | "error";

/** The state of all runs, by cell id, as `ready` and `notebook_state` have it. */
export interface WireRuns {
  cell_status: Record<string, RunStatus>;
  cell_sequencers: Record<string, number>;
  /** Numbers of the last runs, of whatever kernel; absent: nothing but the sequencers is known. */
  cell_counts?: Record<string, number>;
  /** What the last run took, in milliseconds; of some kernels there is none. */
  cell_durations?: Record<string, number>;
  cell_outputs: Record<string, Output[]>;
  run_queue: string[];
  cell_widgets: Record<string, Record<string, Widget>>;
}

/** What a view is told first, and what the API answers for a moment of a trace. */
export interface NotebookStateMessage {
  type: "notebook_state";
  seq: number;
  cells: WireCell[];
  runs: WireRuns;
}

/** An nbformat 4 output. A multi-line text may be a list of lines. */
export type Output =
  | { output_type: "stream"; name: "stdout" | "stderr"; text: string | string[] }
  | RichOutput
  | { output_type: "error"; ename: string; evalue: string; traceback: string[] };

export interface RichOutput {
  output_type: "display_data" | "execute_result";
  data: MimeBundle;
  metadata: Record<string, unknown>;
  execution_count?: number | null;
  transient?: { display_id?: string };
}

/** Values by MIME type: texts, base64 of what is binary, or JSON. A value that was left out is {mime, bytes}. */
export type MimeBundle = Record<string, unknown>;

/** The state of a widget; `type` is the Python name without w_, as "slider". */
export interface Widget {
  type: string;
  label?: string;
  readonly?: boolean;
  default?: unknown;
  value?: unknown;
  appearance?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface EvalResult {
  type: "eval_result";
  case_id: string;
  outcome: string;
  outcome_detail: string;
  passed: boolean | null;
  score: number | null;
  graders: GraderResult[];
  answer: unknown;
  duration_ms: number;
}

export interface GraderResult {
  type: string;
  passed: boolean | null;
  score?: number | null;
  reasoning?: string;
  metrics?: Record<string, unknown>;
  error?: string | null;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
  context_limit?: number;
  cost_usd?: number | null;
}
