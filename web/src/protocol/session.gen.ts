// Code generated from Go structs by `go test ./web -update`. DO NOT EDIT.

import { boolean, list, nullable, number, object, optional, string, unknown } from "../json/schema";
import { type EvalResultMessage, evalResultMessageSchema } from "./wire.gen";

/** KernelInfo describes the kernel process of a session. */
export interface KernelInfo {
  pid: number;
  /** running or dead */
  status: string;
  language: string;
}

export const kernelInfoSchema = /* @__PURE__ */ object<KernelInfo>({
  pid: number,
  status: string,
  language: string,
});

/**
 * Limits are the limits of one attempt on time, turns, actions, tokens, cost, disk space and the size of
 * its trace. 0 means no limit.
 */
export interface RunLimits {
  /** seconds since the agent got its task */
  wall_s?: number;
  /** seconds without a frame of the agent while no cell runs */
  idle_s?: number;
  /** seconds that a run of a cell or an execute_code may take */
  cell_s?: number;
  /** assistant messages */
  turns?: number;
  /** of the agent */
  actions?: number;
  /** input and output, of the calls through the server and by the agent's account */
  tokens?: number;
  /** as for MaxTokens */
  cost_usd?: number;
  /** added to the working folder, measured each second */
  disk_bytes?: number;
  /** of messages in the trace */
  trace_bytes?: number;
}

export const runLimitsSchema = /* @__PURE__ */ object<RunLimits>({
  wall_s: optional(number),
  idle_s: optional(number),
  cell_s: optional(number),
  turns: optional(number),
  actions: optional(number),
  tokens: optional(number),
  cost_usd: optional(number),
  disk_bytes: optional(number),
  trace_bytes: optional(number),
});

/** AttemptInfo describes an attempt in progress. */
export interface AttemptInfo {
  case_id: string;
  task: string;
  /** of the case, as paths in the working folder */
  files?: readonly string[];
  /** from 1 */
  epoch: number;
  limits: RunLimits;
  /** when the agent got its task; absent: it has not yet */
  started?: string;
}

export const attemptInfoSchema = /* @__PURE__ */ object<AttemptInfo>({
  case_id: string,
  task: string,
  files: optional(list(string)),
  epoch: number,
  limits: runLimitsSchema,
  started: optional(string),
});

/** SessionDetail is the response of GET /api/sessions/{id}. */
export interface SessionDetail {
  id: string;
  state: string;
  /** why the last session could not start; absent: it could */
  problem?: string;
  /** a session.State; absent: there is no session yet */
  working?: string;
  /** when the session started; null: it has not */
  started: string | null;
  /** of the newest entry of its trace */
  seq: number;
  /** path of its trace */
  trace?: string;
  /** null: no kernel was started */
  kernel: KernelInfo | null;
  /** connected at /run and /agent */
  consoles: number;
  /** who holds the notebook: server or console; absent: undecided */
  holder?: string;
  /** the session was that of an attempt, which has ended */
  verdict: boolean;
  /** attached cases that wait for their turn */
  cases: number;
  /** the attempt in progress; null: none */
  attempt: AttemptInfo | null;
  /** EvalResultMessage of the attempt that has ended here; absent: none */
  result?: EvalResultMessage;
  /**
   * Previous is the EvalResultMessage of the attempt before the newest session,
   * for consoles that were not connected when it was sent; absent: none.
   */
  previous?: EvalResultMessage;
}

export const sessionDetailSchema = /* @__PURE__ */ object<SessionDetail>({
  id: string,
  state: string,
  problem: optional(string),
  working: optional(string),
  started: nullable(string),
  seq: number,
  trace: optional(string),
  kernel: nullable(kernelInfoSchema),
  consoles: number,
  holder: optional(string),
  verdict: boolean,
  cases: number,
  attempt: nullable(attemptInfoSchema),
  result: optional(evalResultMessageSchema),
  previous: optional(evalResultMessageSchema),
});

/** UnreadableLines counts the lines of a file that were ignored because they are damaged. */
export interface RunUnreadableLines {
  lines?: number;
  /** number of the first of them, from 0 */
  first?: number;
}

export const runUnreadableLinesSchema = /* @__PURE__ */ object<RunUnreadableLines>({
  lines: optional(number),
  first: optional(number),
});

/**
 * TracePage is the response of GET {base}/trace, which is written without decoding
 * the entries.
 */
export interface TracePage {
  /** lines of the trace (see [trace.Record]) as they are in the file */
  entries: readonly unknown[];
  /** the parameter for the next page; null: there are no more lines yet */
  next: number | null;
  /** number of the last line that was read, selected or not */
  last: number;
  /** damaged lines that were skipped; absent: none */
  left_out?: RunUnreadableLines;
}

export const tracePageSchema = /* @__PURE__ */ object<TracePage>({
  entries: list(unknown),
  next: nullable(number),
  last: number,
  left_out: optional(runUnreadableLinesSchema),
});
