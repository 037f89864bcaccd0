import { getJSON, type TraceSource } from "../../api/client";
import { readTrace, readTracePage } from "../../api/readTrace";
import { watchTrace } from "../../api/watchTrace";
import { read } from "../../json/schema";
import { notebookAtSchema } from "../../protocol/api.gen";
import { type Entry, typeOf } from "../../protocol/messages";
import type { Store } from "../../store/store";
import { type Mark, markFrom, markOf, markQuery } from "./mark";
import { type Moment, nowhere, type Speed } from "./moment";
import { Player } from "./player";
import { hasHistory, streamQuery, Tape, tapeQuery } from "./tape";

/**
 * Goes through a trace: puts the notebook and the agent as they were after any of
 * its entries into a store, plays on from there, and follows a trace that goes on.
 *
 *     still ──play──▶ playing ──the newest entry──▶ still, or live
 *       ▲  ◀──goTo──────┘                             │
 *       └──────────────goTo, the trace's end──────────┘
 */
export class Travel {
  readonly tape = new Tape();
  #moment: Moment = nowhere;
  #listeners = new Set<() => void>();
  readonly #gone = new AbortController();
  #begun = false;
  /** Entries that came while tape and marks were being loaded, which go behind those; null: they are loaded. */
  #late: Entry[] | null = [];
  /** What is to be asked for next: "end" is the newest; null: nothing. */
  #wanted: number | "end" | null = null;
  #asking = false;
  #stopMoving: (() => void) | null = null;
  #onEnd: () => void = () => undefined;

  constructor(
    readonly source: TraceSource,
    readonly store: Store,
  ) {}

  readonly get = (): Moment => this.#moment;

  readonly subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /**
   * Loads the state after an entry, or else the newest, and what there is to mark. Once is
   * enough; a later call goes nowhere. onEnd: a trace that went on has ended.
   */
  begin(onEnd: () => void, seq: number | null = null): void {
    this.#onEnd = onEnd;
    if (this.#begun) return;
    this.#begun = true;
    void this.#load();
    if (seq !== null) this.#begin(seq);
    else if (this.source.watch === null) this.goTo("end");
    else this.follow();
  }

  /** Ends all that goes on, for good. */
  end(): void {
    this.#gone.abort();
    this.#stop();
  }

  /** Shows the state after an entry. While one is on its way, only the last that was asked for is asked for then. */
  goTo(seq: number | "end"): void {
    this.#stop();
    const { end } = this.#moment;
    const to = seq === "end" ? end : Math.max(1, Math.min(end, Math.round(seq)));
    this.#tell({ seq: to, entry: null, busy: true, mode: "still" });
    this.#want(seq === "end" ? "end" : to);
  }

  /** Goes to an entry before it is known how many there are. */
  #begin(seq: number): void {
    this.#tell({ busy: true });
    this.#want(seq);
  }

  /** Goes to the mark that is `by` marks away. */
  step(by: number): void {
    const mark = markFrom(this.#moment.marks, this.#moment.seq, by);
    if (mark !== null) this.goTo(mark.seq);
  }

  /** Goes on from here by the times of the trace; long silences are shortened. */
  play(speed: Speed): void {
    this.#stop();
    if (this.#moment.seq >= this.#moment.end) this.#rewind();
    this.#tell({ mode: "playing", problem: null });
    const player = new Player(this.source.base, this.#moment, speed, {
      onEntries: (entries) => this.#pass(entries),
      onEnd: () => (this.source.watch !== null && !this.#moment.complete ? this.follow() : this.pause()),
      onProblem: (problem) => this.#tell({ problem, mode: "still" }),
    });
    this.#stopMoving = () => player.stop();
  }

  pause(): void {
    this.#stop();
    this.#tell({ mode: "still" });
  }

  /** Goes to the newest entry and on with the attempt. */
  follow(): void {
    this.goTo("end");
    this.#tell({ mode: "live" });
  }

  /** Goes to where nothing has happened yet. */
  #rewind(): void {
    this.store.restore(read(notebookAtSchema, {}));
    this.#hear(0);
    this.#tell({ seq: 0, ms: 0, entry: null });
  }

  #stop(): void {
    this.#stopMoving?.();
    this.#stopMoving = null;
  }

  #want(seq: number | "end"): void {
    this.#wanted = seq;
    if (!this.#asking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    while (this.#wanted !== null && !this.#gone.signal.aborted) {
      const seq = this.#wanted;
      this.#wanted = null;
      try {
        await this.#show(seq);
      } catch (error) {
        if (this.#gone.signal.aborted) break;
        // What could not be shown is not followed either.
        const mode = this.#moment.mode === "live" ? "still" : this.#moment.mode;
        this.#tell({ problem: error instanceof Error ? error.message : String(error), mode });
      }
    }
    this.#asking = false;
    this.#tell({ busy: false });
  }

  async #show(seq: number | "end"): Promise<void> {
    const query = seq === "end" ? {} : { seq };
    const [state, found] = await Promise.all([
      getJSON(`${this.source.base}/at`, notebookAtSchema, query, this.#gone.signal),
      seq === "end" ? null : this.#entry(seq),
    ]);
    const at = state.seq;
    const entry = at > 0 && at !== seq ? await this.#entry(at) : found;
    const passed = this.#wanted !== null; // somebody has gone on meanwhile
    this.store.restore(state);
    this.#hear(at);
    this.#tell({
      ...(passed ? {} : { seq: at, entry }),
      end: Math.max(state.end || at, this.#moment.end),
      complete: state.complete,
      ms: state.t_ns / 1e6,
      heldByConsole: state.held === "console",
      problem: null,
    });
    if (!passed && this.#moment.mode === "live") this.#watch(at + 1);
  }

  async #entry(seq: number): Promise<Entry | null> {
    const { entries } = await readTracePage(this.source.base, { from: seq, limit: 1 }, this.#gone.signal);
    return entries.find((entry) => entry.seq === seq) ?? null;
  }

  /** Follows the trace on from an entry. */
  #watch(from: number): void {
    if (this.source.watch === null || this.#moment.complete) {
      this.#ended();
      return;
    }
    this.#stop();
    this.#stopMoving = watchTrace(this.source.watch, from, {
      onEntries: (entries) => this.#pass(entries),
      onEnd: () => this.#ended(),
      onConnectionLost: (problem) => this.#tell({ problem }),
    });
  }

  #ended(): void {
    this.#tell({ mode: "still", complete: true });
    this.#onEnd();
  }

  /** Goes past entries, which come behind where one is. */
  #pass(entries: readonly Entry[]): void {
    const last = entries.at(-1);
    if (last === undefined) return;
    this.store.apply(entries);
    if (this.#late === null) this.#note(entries);
    else this.#late.push(...entries);
    const end = Math.max(last.seq, this.#moment.end);
    this.#tell({ seq: last.seq, ms: (last.t_ns ?? 0) / 1e6, entry: last, end });
  }

  /** Adds entries to tape and marks, as far as they are new there. */
  #note(entries: readonly Entry[]): void {
    this.tape.add(entries.filter(isOnTape));
    this.#tell({ marks: joined(this.#moment.marks, entries.map(markOf)), heard: this.tape.length });
  }

  /** Puts the agent as it was then into the store. */
  #hear(seq: number): void {
    const agent = this.tape.at(seq);
    this.store.update((state) => ({ ...state, agent }));
  }

  /** Loads marks and tape, in the background and page by page. */
  async #load(): Promise<void> {
    const { signal } = this.#gone;
    try {
      await Promise.all([this.#loadTape(signal), this.#loadMarks(signal)]);
      this.#note(this.#late ?? []);
      this.#late = null;
      this.#hear(this.#moment.seq);
      this.#tell({ loaded: true });
    } catch (error) {
      if (!signal.aborted) this.#tell({ problem: error instanceof Error ? error.message : String(error) });
    }
  }

  async #loadMarks(signal: AbortSignal): Promise<void> {
    for await (const entries of readTrace(this.source.base, { ...markQuery, brief: true }, signal)) {
      this.#tell({ marks: joined(this.#moment.marks, entries.map(markOf)) });
    }
  }

  async #loadTape(signal: AbortSignal): Promise<void> {
    const all: Entry[] = [];
    for await (const entries of readTrace(this.source.base, tapeQuery, signal)) all.push(...entries);
    if (!hasHistory(all)) {
      all.length = 0;
      for await (const entries of readTrace(this.source.base, streamQuery, signal)) all.push(...entries);
    }
    this.tape.add(all);
    this.#hear(this.#moment.seq);
    this.#tell({ heard: this.tape.length });
  }

  #tell(change: Partial<Moment>): void {
    if (this.#gone.signal.aborted) return;
    this.#moment = { ...this.#moment, ...change };
    for (const f of [...this.#listeners]) f();
  }
}

const onTape = new Set(streamQuery.type.split(","));
const tapeHops = new Set(tapeQuery.hop.split(","));

function isOnTape(entry: Entry): boolean {
  return tapeHops.has(entry.hop) && onTape.has(entry.msg === null ? "" : typeOf(entry.msg));
}

/** The marks with more, in order and each once. */
function joined(marks: readonly Mark[], more: readonly (Mark | null)[]): readonly Mark[] {
  const last = marks.at(-1)?.seq ?? 0;
  const added = more.filter((mark) => mark !== null && mark.seq > last) as Mark[];
  return added.length === 0 ? marks : [...marks, ...added];
}
