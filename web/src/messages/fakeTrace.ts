import { problem } from "../api/fakeServer";

/** A trace that the tests have the server answer from. */
export class FakeTrace {
  complete = true;
  /** Refuses to answer. */
  broken = false;
  /** By seq: what is another than in any entry. */
  readonly special = new Map<number, Record<string, unknown>>();
  requests: Record<string, unknown> = {};

  constructor(public length: number) {}

  /** Is such an entry, of a seq, a piece of a reply. */
  isPiece = (_seq: number): boolean => false;

  /** Answers /flow; any filter but streams=false picks each tenth entry. */
  readonly flow = (url: URL): unknown => {
    if (this.broken) return problem(500, "unreadable", "the trace is damaged");
    const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
    const picked = ["text", "tx", "action", "hop", "cell", "late"].some((name) => url.searchParams.has(name));
    const whole = url.searchParams.get("streams") !== "false";
    const all = Array.from({ length: this.length }, (_, i) => i + 1).filter((seq) => !picked || seq % 10 === 0);
    const shown = whole ? all : all.filter((seq) => !this.isPiece(seq));
    const behind = shown.filter((seq) => seq >= number("from", 1)).slice(number("skip", 0));
    const rows = behind.slice(0, number("limit", 500));
    return {
      entries: rows.map((seq) => ({ ...entryOf(seq), ...this.special.get(seq) })),
      requests: this.requests,
      ...(picked || !whole ? { count: shown.length } : {}),
      ...(whole ? {} : { hidden: all.length - shown.length }),
      next: behind[rows.length] ?? null,
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
