import { problem } from "../runs/fakeServer";

/** A trace that the tests have the server answer from. */
export class FakeTrace {
  complete = true;
  /** Refuses to answer. */
  broken = false;
  /** By seq: what is another than in any entry. */
  readonly special = new Map<number, Record<string, unknown>>();
  requests: Record<string, unknown> = {};

  constructor(public length: number) {}

  /** Answers /flow; the filter hop=session picks each tenth entry. */
  readonly flow = (url: URL): unknown => {
    if (this.broken) return problem(500, "unreadable", "the trace is damaged");
    const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
    const filtered = ["tx", "action", "hop", "cell", "late"].some((name) => url.searchParams.has(name));
    const step = filtered ? 10 : 1;
    const count = Math.floor(this.length / step);
    const first = Math.max(0, Math.ceil(number("from", 1) / step) - 1) + number("skip", 0);
    const last = Math.min(count, first + number("limit", 500));
    const rows = Array.from({ length: Math.max(0, last - first) }, (_, i) => (first + i + 1) * step);
    return {
      entries: rows.map((seq) => ({ ...entryOf(seq), ...this.special.get(seq) })),
      requests: this.requests,
      ...(filtered ? { count } : {}),
      next: last < count ? last + 1 : null,
      last: this.length,
      end: this.length,
      complete: this.complete,
    };
  };

  /** Answers /trace. */
  readonly trace = (url: URL): unknown => {
    const seq = Number(url.searchParams.get("from") ?? 1);
    const msg = { type: "cell_output", of: seq };
    return { entries: [{ ...entryOf(seq), wall: "2026-11-20T14:00:00Z", msg, ...this.special.get(seq) }], next: null };
  };
}

function entryOf(seq: number): Record<string, unknown> {
  return { seq, t_ns: seq * 1e6, hop: "kernel>server", type: "cell_output", cell_id: "c1", bytes: 100 };
}
