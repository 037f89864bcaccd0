import { problemResponse } from "../api/fakeServer";

/** A trace for tests that answers requests for /flow and /trace. */
export class FakeTrace {
  complete = true;
  /** Answers with an error. */
  isBroken = false;
  /** Fields that differ from the default entry, by entry number. */
  readonly overrides = new Map<number, Record<string, unknown>>();
  requests: Record<string, unknown> = {};
  modelCalls = 0;

  constructor(public length: number) {}

  /** Reports whether an entry is a stream frame. */
  isStreamFrame = (_seq: number): boolean => false;

  /** Answers /flow. Any filter but streams=false matches every tenth entry. */
  readonly flow = (url: URL): unknown => {
    if (this.isBroken) return problemResponse(500, "unreadable", "the trace is damaged");
    const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
    const picked = ["text", "tx", "action", "hop", "cell", "late"].some((name) => url.searchParams.has(name));
    const whole = url.searchParams.get("streams") !== "false";
    const all = Array.from({ length: this.length }, (_, i) => i + 1).filter((seq) => !picked || seq % 10 === 0);
    const shown = whole ? all : all.filter((seq) => !this.isStreamFrame(seq));
    const behind = shown.filter((seq) => seq >= number("from", 1)).slice(number("skip", 0));
    const rows = behind.slice(0, number("limit", 500));
    return {
      entries: rows.map((seq) => ({ ...fakeEntryFields(seq), ...this.overrides.get(seq) })),
      requests: this.requests,
      ...(picked || !whole ? { count: shown.length } : {}),
      ...(whole ? {} : { hidden: all.length - shown.length }),
      next: behind[rows.length] ?? null,
      last: this.length,
      end: this.length,
      complete: this.complete,
      model_calls: this.modelCalls,
    };
  };

  /** Answers /trace with one entry. */
  readonly trace = (url: URL): unknown => {
    const seq = Number(url.searchParams.get("from") ?? 1);
    const msg = { type: "cell_output", of: seq };
    return {
      entries: [{ ...fakeEntryFields(seq), wall: "2026-11-20T14:00:00Z", msg, ...this.overrides.get(seq) }],
      next: null,
    };
  };
}

function fakeEntryFields(seq: number): Record<string, unknown> {
  return { seq, t_ns: seq * 1e6, hop: "kernel>server", type: "cell_output", cell_id: "c1", bytes: 100 };
}
