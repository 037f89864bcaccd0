import type {
  ModelCall,
  FlowEntry as WireEntry,
  FlowPage as WirePage,
  FlowRequest as WireRequest,
} from "../protocol/api.gen";

// Responses of /flow. Names and ids in them may be any text, because agents choose them.

/** An entry of the trace without its message. Missing texts are "". */
export interface FlowEntry {
  seq: number;
  /** Milliseconds since the trace began. */
  ms: number;
  /** Usually one of Hop; an agent or an older trace may have others. */
  hop: string;
  /** Number of the console, from 1; null: no console. */
  conn: number | null;
  type: string;
  action: string;
  txId: string;
  cellId: string;
  bytes: number;
  note: string;
  /** The entry that this one forwards, and the one that caused it; null: none. */
  ref: number | null;
  cause: number | null;
  /** Shown in place of the action if there is none. */
  label: string;
  /** Requests that the entry is part of, each named by the number of its first entry. */
  requests: readonly number[];
}

/** A request, such as an agent's action, and its progress so far. */
export interface FlowRequest {
  /** Number of its first entry. */
  first: number;
  kind: string;
  action: string;
  txId: string;
  /** The tx_id of the request to the kernel. */
  kernelTxId: string;
  /** answered, timed_out, failed or unanswered. */
  state: string;
  /** Milliseconds until the answer; null: not answered. */
  totalMs: number | null;
  hops: readonly { hop: string; ms: number }[];
  /** The slowest peer, or the one that has not answered. */
  slowest: string;
  /** How late a late reply was, in milliseconds; null: not late. */
  lateMs: number | null;
  /** Summary, as `assay trace` prints it. */
  text: string;
  /**
   * Entry numbers of the request, its forwarding, the reply, the answer and a late reply; 0: there
   * is none.
   */
  seqs: readonly number[];
  /** What a call of a model has used, and how it has ended; null: it is another request. */
  call: ModelCall | null;
}

export interface FlowPage {
  entries: readonly FlowEntry[];
  requests: ReadonlyMap<number, FlowRequest>;
  /** Number of entries that match the filter; null: no filter. */
  count: number | null;
  /** Number of stream frames left out; null: they are included. */
  hidden: number | null;
  next: number | null;
  /** Number of the newest entry of the trace. */
  end: number;
  /** The trace has ended. */
  complete: boolean;
  /** The agent has called models. */
  hasModelCalls: boolean;
}

/** Converts a page of the flow from the API's format. Entries without a valid number are left out. */
export function flowPageOf(page: WirePage): FlowPage {
  const requests = Object.entries(page.requests);
  return {
    entries: page.entries.filter(({ seq }) => isEntryNumber(seq)).map(flowEntryOf),
    requests: new Map(requests.map(([first, request]) => [Number(first), flowRequestOf(Number(first), request)])),
    count: page.count ?? null,
    hidden: page.hidden ?? null,
    next: page.next,
    end: page.end,
    complete: page.complete,
    hasModelCalls: page.model_calls > 0,
  };
}

/** Reports whether a number is a valid entry number: a positive safe integer. */
function isEntryNumber(n: number | undefined): n is number {
  return Number.isSafeInteger(n) && Number(n) > 0;
}

function flowEntryOf(entry: WireEntry): FlowEntry {
  return {
    seq: entry.seq,
    ms: entry.t_ns / 1e6,
    hop: entry.hop,
    conn: entry.conn ?? null,
    type: entry.type,
    action: entry.action ?? "",
    txId: entry.tx_id ?? "",
    cellId: entry.cell_id ?? "",
    bytes: entry.bytes,
    note: entry.note ?? "",
    ref: isEntryNumber(entry.ref) ? entry.ref : null,
    cause: isEntryNumber(entry.cause) ? entry.cause : null,
    label: entry.label ?? "",
    requests: [...new Set((entry.requests ?? []).filter(isEntryNumber))],
  };
}

function flowRequestOf(first: number, request: WireRequest): FlowRequest {
  return {
    first,
    kind: request.kind,
    action: request.action,
    txId: request.tx_id ?? "",
    kernelTxId: request.kernel_tx_id ?? "",
    state: request.state,
    totalMs: request.total_ms,
    hops: request.hops,
    slowest: request.slowest,
    lateMs: request.late_ms ?? null,
    text: request.text,
    seqs: request.seqs,
    call: request.model_call ?? null,
  };
}
