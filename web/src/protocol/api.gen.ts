// Code generated from Go structs by `go test ./web -update`. DO NOT EDIT.

import { boolean, list, nullable, number, object, optional, record, string, unknown } from "../json/schema";
import { type ExecutionsSnapshot, executionsSnapshotSchema } from "./wire.gen";
import { type RunLimits, runLimitsSchema } from "./session.gen";
import { type RunUnreadableLines, runUnreadableLinesSchema } from "./session.gen";
import { type WireCell, wireCellSchema } from "./wire.gen";

/** OutputLine is a line that a kernel or agent process wrote to stdout or stderr. */
export interface OutputLine {
  /** from 1; lines that are missing between two were dropped */
  n: number;
  at: string;
  /** kernel or agent */
  name: string;
  /** number of the process, from 1, counted over all sessions of the id */
  process: number;
  /** without the line end */
  text: string;
}

export const outputLineSchema = /* @__PURE__ */ object<OutputLine>({
  n: number,
  at: string,
  name: string,
  process: number,
  text: string,
});

/**
 * ProcessOutput is the response of GET /api/sessions/{id}/printed, and each message
 * of the WebSocket /printed.
 */
export interface ProcessOutput {
  /** ascending by N; never null */
  lines: readonly OutputLine[];
}

export const processOutputSchema = /* @__PURE__ */ object<ProcessOutput>({
  lines: list(outputLineSchema),
});

/** Host describes the machine on which a run was made, and the versions of the programs. */
export interface RunHost {
  /** version of this program */
  assay?: string;
  go?: string;
  os?: string;
  arch?: string;
  cpus?: number;
  /** version of the interpreter */
  python?: string;
  /** host name */
  name?: string;
}

export const runHostSchema = /* @__PURE__ */ object<RunHost>({
  assay: optional(string),
  go: optional(string),
  os: optional(string),
  arch: optional(string),
  cpus: optional(number),
  python: optional(string),
  name: optional(string),
});

/**
 * Counts is the JSON of a run's results so far: numbers of attempts, pass rate, cost and
 * duration.
 */
export interface RunCounts {
  state?: string;
  attempts?: number;
  /** attempts */
  passed?: number;
  /** attempts */
  failed?: number;
  /** attempts without a verdict that are counted nowhere else */
  ungraded?: number;
  /** attempts without a verdict because the grading failed; see [GradingFailure] */
  grading_errors?: number;
  /** attempts; see [Attempt.IsInfrastructureFailure] */
  infrastructure?: number;
  /** cases */
  skipped?: number;
  /** Finished is true if the last line is a summary. */
  finished?: boolean;
  /** attempts; unknown outcomes count as OutcomeOther */
  by_outcome?: Readonly<Record<string, number>>;
  /**
   * PassRate is the mean over the cases of the share of their attempts that passed, where
   * infrastructure failures and grading errors count as not passed. nil: no attempt counts yet.
   */
  pass_rate?: number | null;
  /** of all attempts; nil if there is none or the cost of one is unknown */
  cost_usd?: number | null;
  /**
   * DurationMS is how long the run took, or has taken so far. For an interrupted run it ends with
   * the last attempt. nil: unknown.
   */
  duration_ms?: number | null;
  /** nil: every line could be read */
  left_out?: RunUnreadableLines;
}

export const runCountsSchema = /* @__PURE__ */ object<RunCounts>({
  state: optional(string),
  attempts: optional(number),
  passed: optional(number),
  failed: optional(number),
  ungraded: optional(number),
  grading_errors: optional(number),
  infrastructure: optional(number),
  skipped: optional(number),
  finished: optional(boolean),
  by_outcome: optional(record(number)),
  pass_rate: optional(nullable(number)),
  cost_usd: optional(nullable(number)),
  duration_ms: optional(nullable(number)),
  left_out: optional(runUnreadableLinesSchema),
});

/** Has the fields of runs.Info, runs.ListedRun, api.RunDetail. */
export interface RunItem {
  /** "run" */
  type?: string;
  version?: number;
  /** the folder's name */
  run?: string;
  started?: string;
  /** the flags of the run */
  config?: unknown;
  host?: RunHost;
  /** of the folder */
  name?: string;
  summary?: RunCounts;
  /** why it cannot be read */
  problem?: string;
  /** folders of the attempts without a line in attempts.jsonl; never null */
  running?: readonly string[];
}

export const runItemSchema = /* @__PURE__ */ object<RunItem>({
  type: optional(string),
  version: optional(number),
  run: optional(string),
  started: optional(string),
  config: optional(unknown),
  host: optional(runHostSchema),
  name: optional(string),
  summary: optional(runCountsSchema),
  problem: optional(string),
  running: optional(list(string)),
});

/** RunPage is the response of GET /api/runs: runs, the newest first. */
export interface RunPage {
  /** never null */
  runs: readonly RunItem[];
  /** the "after" of the next page; null: this is the last page */
  next: string | null;
}

export const runPageSchema = /* @__PURE__ */ object<RunPage>({
  runs: list(runItemSchema),
  next: nullable(string),
});

/**
 * GradingFailure says why the graders of an attempt came to no verdict, which is not the agent's
 * fault. The attempt can be graded again.
 */
export interface RunGradingFailure {
  /** model, command or kernel: what did not work */
  error_kind?: string;
  /** of the first grader that failed */
  text?: string;
}

export const runGradingFailureSchema = /* @__PURE__ */ object<RunGradingFailure>({
  error_kind: optional(string),
  text: optional(string),
});

/** PhaseTimes has the duration of each phase of an attempt in milliseconds. */
export interface RunPhaseTimes {
  /** starting kernel and agent, and the case's setup */
  start_ms?: number;
  /** from the task to the end of the agent's work */
  work_ms?: number;
  /** the part of WorkMS in which the agent waited to call its models; by its own account if no call went through the server */
  wait_ms?: number;
  /** collecting the notebook's state and stopping the agent */
  collect_ms?: number;
  grade_ms?: number;
}

export const runPhaseTimesSchema = /* @__PURE__ */ object<RunPhaseTimes>({
  start_ms: optional(number),
  work_ms: optional(number),
  wait_ms: optional(number),
  collect_ms: optional(number),
  grade_ms: optional(number),
});

/** ReportedUsage is what an agent has reported of its calls of models. */
export interface RunReportedUsage {
  /** of all prompts, cached or not */
  input_tokens?: number;
  output_tokens?: number;
  /** nil: nothing */
  cost_usd?: number | null;
}

export const runReportedUsageSchema = /* @__PURE__ */ object<RunReportedUsage>({
  input_tokens: optional(number),
  output_tokens: optional(number),
  cost_usd: optional(nullable(number)),
});

/**
 * Usage is the tokens, cost in US dollars, calls and actions that an attempt has used. If its agent's
 * calls of models went through the server, tokens, cost, calls and retries are those of these calls, and
 * otherwise what the agent reports.
 */
export interface RunUsage {
  /** of all prompts, cached or not */
  input_tokens?: number;
  output_tokens?: number;
  /** nil: the price is unknown */
  cost_usd?: number | null;
  /** that got a reply, or else assistant messages */
  model_calls?: number;
  /** of ModelCalls: the cache has replied; their tokens count, but they cost nothing */
  cached_calls?: number;
  /** of the agent */
  actions?: number;
  /** executions of cells that have ended */
  cells_run?: number;
  /** failed model calls that were repeated */
  retries?: number;
  /** Parts of InputTokens: read from the provider's cache, and written to it. */
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
  /** Reported is what the agent has reported, if the other numbers are those of its calls; nil: nothing. */
  reported?: RunReportedUsage;
}

export const runUsageSchema = /* @__PURE__ */ object<RunUsage>({
  input_tokens: optional(number),
  output_tokens: optional(number),
  cost_usd: optional(nullable(number)),
  model_calls: optional(number),
  cached_calls: optional(number),
  actions: optional(number),
  cells_run: optional(number),
  retries: optional(number),
  cache_read_input_tokens: optional(number),
  cache_creation_input_tokens: optional(number),
  reported: optional(runReportedUsageSchema),
});

/**
 * PassRate is the mean, over the cases, of the share of each case's attempts that passed, from
 * 0 to 1. A field is nil if no case counts; the confidence intervals need two cases.
 */
export interface PassRate {
  /** infrastructure failures and grading errors count as not passed */
  strict?: number | null;
  /** they do not count */
  excluding_infrastructure?: number | null;
  /** 95 % confidence interval of Strict, clamped to 0 and 1 */
  ci95?: readonly number[] | null;
  /** the same, not clamped */
  ci95_raw?: readonly number[] | null;
}

export const passRateSchema = /* @__PURE__ */ object<PassRate>({
  strict: optional(nullable(number)),
  excluding_infrastructure: optional(nullable(number)),
  ci95: optional(nullable(list(number))),
  ci95_raw: optional(nullable(list(number))),
});

/** Has the fields of web_test.numbered, runs.Attempt, runs.SkippedCase, runs.UnfinishedAttempt, web_test.summary. */
export interface AttemptLine {
  /** number of the line */
  n?: number;
  /** of the attempt's folder */
  name?: string;
  /** "attempt" */
  type?: string;
  run?: string;
  case_id?: string;
  /** of the case */
  tags?: readonly string[];
  /** from 1 */
  epoch?: number;
  /** from 1 */
  try?: number;
  /** who did the agent's work; absent: an agent */
  person?: string;
  outcome?: string;
  /** for people: why it ended so */
  outcome_detail?: string;
  /**
   * Passed and Score (0 to 1) are nil if there is no verdict: attempts with this outcome are
   * not graded, the case has no grader, or the grading has failed.
   */
  passed?: boolean | null;
  score?: number | null;
  /** nil: the grading has not failed */
  grading?: RunGradingFailure;
  /** a result per grader: type, passed, score, reasoning, metrics, error */
  graders?: readonly unknown[];
  /** the JSON that the agent submitted; null: none */
  answer?: unknown;
  /** text of the last submission */
  summary?: string;
  started?: string;
  ended?: string;
  duration_ms?: number;
  phases?: RunPhaseTimes;
  usage?: RunUsage;
  limits?: RunLimits;
  /**
   * Paths relative to the run's folder.
   * state.json; empty: it was not collected
   */
  notebook_state?: string;
  /** trace.jsonl */
  trace?: string;
  /** all files of the attempt */
  files?: readonly string[];
  /** completion markers in places where they mean nothing, misused ids, forbidden connections */
  tamper?: number;
  /** changes and messages by people at consoles */
  interventions?: number;
  /** Redacted is how many secrets, such as API keys, were replaced in the attempt's files. */
  redacted?: number;
  /**
   * Enforced says what was enforced for the attempt's processes. A key is true if it held for every
   * process in whose record it is; keys that no process has are absent. The keys are those of
   * subprocess.Process.Enforced, and "disk".
   */
  enforced?: Readonly<Record<string, boolean>>;
  /** what is missing */
  reason?: string;
  /** StateRunning or StateInterrupted */
  state?: string;
  /** the part of the folder's name that stands for the case's id */
  slug?: string;
  /** when its trace was last written; without a trace, its folder */
  changed?: string;
  /** of the whole run */
  pass_rate?: PassRate;
}

export const attemptLineSchema = /* @__PURE__ */ object<AttemptLine>({
  n: optional(number),
  name: optional(string),
  type: optional(string),
  run: optional(string),
  case_id: optional(string),
  tags: optional(list(string)),
  epoch: optional(number),
  try: optional(number),
  person: optional(string),
  outcome: optional(string),
  outcome_detail: optional(string),
  passed: optional(nullable(boolean)),
  score: optional(nullable(number)),
  grading: optional(runGradingFailureSchema),
  graders: optional(list(unknown)),
  answer: optional(unknown),
  summary: optional(string),
  started: optional(string),
  ended: optional(string),
  duration_ms: optional(number),
  phases: optional(runPhaseTimesSchema),
  usage: optional(runUsageSchema),
  limits: optional(runLimitsSchema),
  notebook_state: optional(string),
  trace: optional(string),
  files: optional(list(string)),
  tamper: optional(number),
  interventions: optional(number),
  redacted: optional(number),
  enforced: optional(record(boolean)),
  reason: optional(string),
  state: optional(string),
  slug: optional(string),
  changed: optional(string),
  pass_rate: optional(passRateSchema),
});

/**
 * AttemptPage is the response of GET /api/runs/{run}/attempts, which is written
 * without decoding the lines.
 */
export interface AttemptPage {
  /**
   * Attempts are lines of attempts.jsonl as they are in the file, with "n" (the
   * line's number) and, if the line is of an attempt, "name" (its folder) in
   * front.
   */
  attempts: readonly AttemptLine[];
  /** the parameter for the next page; null: there are no more lines yet */
  next: number | null;
  /** number of the last line that was read, selected or not */
  last: number;
  /** damaged lines that were skipped; absent: none */
  left_out?: RunUnreadableLines;
}

export const attemptPageSchema = /* @__PURE__ */ object<AttemptPage>({
  attempts: list(attemptLineSchema),
  next: nullable(number),
  last: number,
  left_out: optional(runUnreadableLinesSchema),
});

/** Case is a case that can be attached to a session. */
export interface Case {
  /** of the file that has the case */
  path: string;
  id: string;
  task: string;
  /** never null in a response */
  tags: readonly string[];
}

export const caseSchema = /* @__PURE__ */ object<Case>({
  path: string,
  id: string,
  task: string,
  tags: list(string),
});

/** CasePage is the response of GET /api/cases. Tasks are cut to 300 runes. */
export interface CasePage {
  /** never null */
  cases: readonly Case[];
  /** the "after" of the next page; null: this is the last page */
  next: number | null;
}

export const casePageSchema = /* @__PURE__ */ object<CasePage>({
  cases: list(caseSchema),
  next: nullable(number),
});

/**
 * FlowEntry is an entry of a trace without its message and time of day; see
 * [trace.Record] for the fields that both have.
 */
export interface FlowEntry {
  seq: number;
  /** since the trace began, in ns */
  t_ns: number;
  hop: string;
  conn?: number;
  type: string;
  action?: string;
  tx_id?: string;
  cell_id?: string;
  bytes: number;
  note?: string;
  ref?: number;
  cause?: number;
  /** what an entry without an action is about, such as the state of the session */
  label?: string;
  /** keys of FlowPage.Requests */
  requests?: readonly number[];
}

export const flowEntrySchema = /* @__PURE__ */ object<FlowEntry>({
  seq: number,
  t_ns: number,
  hop: string,
  conn: optional(number),
  type: string,
  action: optional(string),
  tx_id: optional(string),
  cell_id: optional(string),
  bytes: number,
  note: optional(string),
  ref: optional(number),
  cause: optional(number),
  label: optional(string),
  requests: optional(list(number)),
});

/** HopDelay is the JSON of one [HopTime] in a [RequestDelay]. */
export interface HopDelay {
  hop: string;
  ms: number;
}

export const hopDelaySchema = /* @__PURE__ */ object<HopDelay>({
  hop: string,
  ms: number,
});

/**
 * Usage counts the tokens of one model call, or the sum over several calls. Its four
 * counts do not overlap.
 */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
}

export const usageSchema = /* @__PURE__ */ object<Usage>({
  input_tokens: number,
  output_tokens: number,
  cache_creation_input_tokens: number,
  cache_read_input_tokens: number,
});

/**
 * ModelCall is what the entries about a call of an agent's model say of it. Times are in
 * milliseconds.
 */
export interface ModelCall {
  /** number of the call */
  call: number;
  /** messages, chat or responses */
  api: string;
  /** that was called, or else the one that the agent named */
  model: string;
  /** absent: it has not ended */
  outcome?: string;
  /** of HTTP; 0: it has not ended, or the agent had gone */
  status: number;
  /** absent: nothing came of the reply */
  usage?: Usage;
  /** null: not known */
  cost_usd: number | null;
  /** until other calls have ended */
  waiting?: boolean;
  /** from when it waited no longer to the first byte of the reply; absent: none came */
  first_byte_ms?: number;
  /** since the model's API had refused the call before; absent: it had not */
  retry_wait_ms?: number;
}

export const modelCallSchema = /* @__PURE__ */ object<ModelCall>({
  call: number,
  api: string,
  model: string,
  outcome: optional(string),
  status: number,
  usage: optional(usageSchema),
  cost_usd: nullable(number),
  waiting: optional(boolean),
  first_byte_ms: optional(number),
  retry_wait_ms: optional(number),
});

/** FlowRequest is a request and its answer, or what there is of them so far. */
export interface FlowRequest {
  kind: string;
  action: string;
  tx_id?: string;
  /** the id under which the kernel was asked */
  kernel_tx_id?: string;
  state: string;
  /** how long the asker waited; null: it was not answered */
  total_ms: number | null;
  hops: readonly HopDelay[];
  /** the hop that took longest, or at which it waits */
  slowest: string;
  /** answered with an earlier reply of the kernel */
  stale?: boolean;
  /** how late a late reply was */
  late_ms?: number;
  further_replies?: number;
  /** of a call of a model */
  model_call?: ModelCall;
  /** the delay, for people */
  text: string;
  /** of the entries asked, sent, replied, answered, late; 0: it did not happen, or not yet */
  seqs: readonly number[];
}

export const flowRequestSchema = /* @__PURE__ */ object<FlowRequest>({
  kind: string,
  action: string,
  tx_id: optional(string),
  kernel_tx_id: optional(string),
  state: string,
  total_ms: nullable(number),
  hops: list(hopDelaySchema),
  slowest: string,
  stale: optional(boolean),
  late_ms: optional(number),
  further_replies: optional(number),
  model_call: optional(modelCallSchema),
  text: string,
  seqs: list(number),
});

/**
 * FlowPage is the response of GET {base}/flow: entries of a trace without their
 * messages, and the requests that they belong to.
 */
export interface FlowPage {
  /** never null */
  entries: readonly FlowEntry[];
  /** by the seq of their first entry */
  requests: Readonly<Record<string, FlowRequest>>;
  /** entries of the whole trace that the filter selects; absent: no filter */
  count?: number;
  /** further entries that only streams=false leaves out; absent: streams are included */
  hidden?: number;
  /** the "from" of the next page; null: there are no more entries yet */
  next: number | null;
  /** seq of the last entry that was looked at */
  last: number;
  /** seq of the newest entry of the trace */
  end: number;
  /** the trace has ended */
  complete: boolean;
  /** how many calls of the agent's models the whole trace has so far */
  model_calls: number;
}

export const flowPageSchema = /* @__PURE__ */ object<FlowPage>({
  entries: list(flowEntrySchema),
  requests: record(flowRequestSchema),
  count: optional(number),
  hidden: optional(number),
  next: nullable(number),
  last: number,
  end: number,
  complete: boolean,
  model_calls: number,
});

/**
 * ActionSummary is the JSON of the statistics of all requests of one kind and action.
 * Percentiles (by nearest rank) and the maximum are in milliseconds, over the requests that
 * were answered, even with an error; null if there are none.
 */
export interface ActionSummary {
  kind: string;
  action: string;
  count: number;
  p50_ms: number | null;
  p99_ms: number | null;
  max_ms: number | null;
  /** the slowest hop of the request at p99 */
  p99_hop: string;
  timed_out: number;
  failed: number;
  unanswered: number;
}

export const actionSummarySchema = /* @__PURE__ */ object<ActionSummary>({
  kind: string,
  action: string,
  count: number,
  p50_ms: nullable(number),
  p99_ms: nullable(number),
  max_ms: nullable(number),
  p99_hop: string,
  timed_out: number,
  failed: number,
  unanswered: number,
});

/** ModelSummary is the JSON of what all calls of an agent's models have used together. */
export interface ModelSummary {
  calls: number;
  usage: Usage;
  /** null: the price of a call is not known, or no call was answered */
  cost_usd: number | null;
  /** until other calls had ended */
  wait_ms: number;
  /** after a model's API had refused a call for now */
  retry_wait_ms: number;
}

export const modelSummarySchema = /* @__PURE__ */ object<ModelSummary>({
  calls: number,
  usage: usageSchema,
  cost_usd: nullable(number),
  wait_ms: number,
  retry_wait_ms: number,
});

/**
 * TimeShares says for what an agent waited between its task and its submission, or the end of
 * the trace. The four times, in milliseconds, do not overlap: their sum is the whole.
 */
export interface TimeShares {
  /** for its models only: calls in flight, and waits to repeat calls that the model's API had refused */
  model_ms: number;
  /** for the kernel only: runs of cells, and actions that the kernel answers */
  kernel_ms: number;
  /** for both at once */
  both_ms: number;
  /** for neither: it worked itself, or waited for a person */
  neither_ms: number;
}

export const timeSharesSchema = /* @__PURE__ */ object<TimeShares>({
  model_ms: number,
  kernel_ms: number,
  both_ms: number,
  neither_ms: number,
});

/** Summary is the JSON of the statistics of a trace that [StatsCollector] has collected. */
export interface TraceStatistics {
  frames: number;
  /** by kind, then by name */
  actions: readonly ActionSummary[];
  notes: Readonly<Record<string, number>>;
  /** absent: the agent has called no model */
  models?: ModelSummary;
  /** absent: the agent got no task, or only some frames were counted */
  time?: TimeShares;
}

export const traceStatisticsSchema = /* @__PURE__ */ object<TraceStatistics>({
  frames: number,
  actions: list(actionSummarySchema),
  notes: record(number),
  models: optional(modelSummarySchema),
  time: optional(timeSharesSchema),
});

/**
 * ModelRequest is the response of GET {base}/request: the request of a call of a model, with what
 * its entry leaves out because an earlier request has it.
 */
export interface ModelRequest {
  /** of the entry */
  seq: number;
  /** number of the call */
  call: number;
  request: unknown;
}

export const modelRequestSchema = /* @__PURE__ */ object<ModelRequest>({
  seq: number,
  call: number,
  request: unknown,
});

/** Same says which part of a request is that of an earlier one. */
export interface SameAsEarlierCall {
  /** number of the earlier call */
  call: number;
  /**
   * Count is how many of the first messages of the conversation are the same, and Digest the
   * SHA-256 of their JSON, joined by commas, in hexadecimal digits.
   */
  count?: number;
  digest?: string;
  /** such as tools: they are the same as a whole */
  members?: readonly string[];
}

export const sameAsEarlierCallSchema = /* @__PURE__ */ object<SameAsEarlierCall>({
  call: number,
  count: optional(number),
  digest: optional(string),
  members: optional(list(string)),
});

/**
 * NotebookAt is the response of GET {base}/at: the notebook_state message that a
 * view would have received after the entry Seq, and when that was.
 */
export interface NotebookAt {
  /** notebook_state */
  type: string;
  /** of the entry; 0: before the first */
  seq: number;
  /** time of the entry since the trace began, in ns */
  t_ns: number;
  /** time of the entry */
  wall: string;
  /** seq of the newest entry of the trace */
  end: number;
  /** the trace has ended */
  complete: boolean;
  /** "console": a console held the notebook, and the cells are pieced together from its answers */
  held?: string;
  /** in order, never nil */
  cells: readonly WireCell[];
  runs: ExecutionsSnapshot;
}

export const notebookAtSchema = /* @__PURE__ */ object<NotebookAt>({
  type: string,
  seq: number,
  t_ns: number,
  wall: string,
  end: number,
  complete: boolean,
  held: optional(string),
  cells: list(wireCellSchema),
  runs: executionsSnapshotSchema,
});
