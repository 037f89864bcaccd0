import { fieldsOf, listOf, numberOf, textOf } from "../json/read";
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

/** Reads an answer; what is no entry in it is left out. */
export function readPage(value: unknown): FlowPage {
  const { entries, requests, count, hidden, next, end, complete } = fieldsOf(value);
  return {
    entries: listOf(entries).flatMap((entry) => readEntry(entry) ?? []),
    requests: new Map(
      Object.entries(fieldsOf(requests)).map(([first, one]) => [Number(first), readRequest(first, one)]),
    ),
    count: wholeOf(count),
    hidden: wholeOf(hidden),
    next: wholeOf(next),
    end: wholeOf(end) ?? 0,
    complete: complete === true,
  };
}

function readEntry(value: unknown): FlowEntry | null {
  const entry = fieldsOf(value);
  const seq = wholeOf(entry.seq);
  if (seq === null) return null;
  return {
    seq,
    ms: (numberOf(entry.t_ns) ?? 0) / 1e6,
    hop: textOf(entry.hop),
    conn: wholeOf(entry.conn),
    type: textOf(entry.type),
    action: textOf(entry.action),
    txId: textOf(entry.tx_id),
    cellId: textOf(entry.cell_id),
    bytes: numberOf(entry.bytes) ?? 0,
    note: textOf(entry.note),
    ref: seqOf(entry.ref),
    cause: seqOf(entry.cause),
    label: textOf(entry.label),
    requests: [...new Set(listOf(entry.requests).flatMap((first) => seqOf(first) ?? []))],
  };
}

function readRequest(first: string, value: unknown): FlowRequest {
  const request = fieldsOf(value);
  return {
    first: Number(first),
    kind: textOf(request.kind),
    action: textOf(request.action),
    txId: textOf(request.tx_id),
    kernelTxId: textOf(request.kernel_tx_id),
    state: textOf(request.state),
    totalMs: numberOf(request.total_ms),
    hops: listOf(request.hops)
      .map(fieldsOf)
      .map(({ hop, ms }) => ({ hop: textOf(hop), ms: numberOf(ms) ?? 0 })),
    slowest: textOf(request.slowest),
    lateMs: numberOf(request.late_ms),
    text: textOf(request.text),
    seqs: listOf(request.seqs).map((seq) => seqOf(seq) ?? 0),
  };
}

function wholeOf(value: unknown): number | null {
  const n = numberOf(value);
  return n !== null && Number.isSafeInteger(n) && n >= 0 ? n : null;
}

/** A number that names an entry. */
function seqOf(value: unknown): number | null {
  return wholeOf(value) || null;
}
