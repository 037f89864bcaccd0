import type { FlowEntry as WireEntry, FlowPage as WirePage, FlowRequest as WireRequest } from "../protocol/api.gen";

// What /flow answers, read with care: an agent's names and ids are in it.

/** An entry of the trace without what it carries. Texts are "" where it has none. */
export interface FlowEntry {
  seq: number;
  /** Since the trace began, in milliseconds. */
  ms: number;
  /** Usually one of Hop. */
  hop: string;
  /** Which console, from 1; null: it was none. */
  conn: number | null;
  type: string;
  action: string;
  txId: string;
  cellId: string;
  bytes: number;
  note: string;
  /** Entries that this one was passed on from, or made out of. */
  ref: number | null;
  cause: number | null;
  /** What stands for the action where there is none. */
  label: string;
  /** The requests that it is part of, each named by its first entry. */
  requests: readonly number[];
}

/** A request, as far as it has come. */
export interface FlowRequest {
  /** Its first entry. */
  first: number;
  kind: string;
  action: string;
  txId: string;
  /** Under which the kernel was asked. */
  kernelTxId: string;
  /** answered, timed_out, failed or unanswered. */
  state: string;
  /** null: nobody was answered. */
  totalMs: number | null;
  hops: readonly { hop: string; ms: number }[];
  /** Who took longest, or who is waited for. */
  slowest: string;
  /** How much too late a reply came; null: none did. */
  lateMs: number | null;
  /** What `assay trace` says of it. */
  text: string;
  /** Where it was asked, sent on, replied to, answered, and replied to too late; 0: it was not. */
  seqs: readonly number[];
}

export interface FlowPage {
  entries: readonly FlowEntry[];
  requests: ReadonlyMap<number, FlowRequest>;
  /** Entries that the filter picks; null: there was no filter. */
  count: number | null;
  /** Pieces of replies that were left out; null: none were to be. */
  hidden: number | null;
  next: number | null;
  /** The newest entry of the trace. */
  end: number;
  /** The trace has ended. */
  complete: boolean;
}

/** Returns a response of the API as the list uses it. Entries without a seq are left out. */
export function pageOf(page: WirePage): FlowPage {
  const requests = Object.entries(page.requests);
  return {
    entries: page.entries.filter(({ seq }) => isSeq(seq)).map(entryOf),
    requests: new Map(requests.map(([first, request]) => [Number(first), requestOf(Number(first), request)])),
    count: page.count ?? null,
    hidden: page.hidden ?? null,
    next: page.next,
    end: page.end,
    complete: page.complete,
  };
}

/** Reports whether a number is that of an entry. */
function isSeq(n: number | undefined): n is number {
  return Number.isSafeInteger(n) && Number(n) > 0;
}

function entryOf(entry: WireEntry): FlowEntry {
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
    ref: isSeq(entry.ref) ? entry.ref : null,
    cause: isSeq(entry.cause) ? entry.cause : null,
    label: entry.label ?? "",
    requests: [...new Set((entry.requests ?? []).filter(isSeq))],
  };
}

function requestOf(first: number, request: WireRequest): FlowRequest {
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
  };
}
