import { getJSON, type TraceSource } from "../../api/client";
import { readTrace, readTracePage } from "../../api/readTrace";
import { watchTrace } from "../../api/watchTrace";
import { read } from "../../json/schema";
import { parseTimeMs } from "../../json/values";
import { notebookAtSchema } from "../../protocol/api.gen";
import { type Entry, typeOfMessage } from "../../protocol/messages";
import type { Store } from "../../store/store";
import { AgentCheckpoints, agentEntriesQuery, hasAgentHistory, streamEntriesQuery } from "./agentCheckpoints";
import { markOf, markQuery, markRelativeTo, type TimelineMark } from "./mark";
import { Player } from "./player";
import { initialTimelineState, type PlaybackSpeed, type TimelineState } from "./timelineState";

/**
 * Moves through a trace: puts the notebook and the agent as they were after any entry into a store,
 * plays from there, and follows a trace that still grows.  still ──play──▶ playing ──the newest
 * entry──▶ still, or live. goTo and the end of the trace lead back to still.
 */
export class Timeline {
  readonly agentCheckpoints = new AgentCheckpoints();
  #moment: TimelineState = initialTimelineState;
  #listeners = new Set<() => void>();
  readonly #gone = new AbortController();
  #begun = false;
  /** Entries that came while checkpoints and marks were being loaded; null: they are loaded. */
  #late: Entry[] | null = [];
  /** The entry to load next: "end" is the newest; null: none. */
  #wanted: number | "end" | null = null;
  #asking = false;
  #stopMoving: (() => void) | null = null;
  #onEnd: () => void = () => undefined;

  constructor(
    readonly source: TraceSource,
    readonly store: Store,
  ) {}

  readonly get = (): TimelineState => this.#moment;

  readonly subscribe = (f: () => void): (() => void) => {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  };

  /**
   * Loads the state after entry seq, or for null the newest, and the marks. Later calls only
   * replace onEnd, which is called when a live trace has ended.
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

  /** Stops everything. The timeline cannot be used again. */
  dispose(): void {
    this.#gone.abort();
    this.#stop();
  }

  /** Shows the state after an entry. During a request only the last call is remembered. */
  goTo(seq: number | "end"): void {
    this.#stop();
    const { end } = this.#moment;
    const to = seq === "end" ? end : Math.max(1, Math.min(end, Math.round(seq)));
    this.#tell({ seq: to, entry: null, isLoading: true, mode: "still" });
    this.#want(seq === "end" ? "end" : to);
  }

  /** Goes to an entry before the number of entries is known. */
  #begin(seq: number): void {
    this.#tell({ isLoading: true });
    this.#want(seq);
  }

  /** Goes to the mark that is `by` marks away. */
  step(by: number): void {
    const mark = markRelativeTo(this.#moment.marks, this.#moment.seq, by);
    if (mark !== null) this.goTo(mark.seq);
  }

  /** Plays from here at a multiple of the original speed; long pauses are shortened. */
  play(speed: PlaybackSpeed): void {
    this.#stop();
    if (this.#moment.seq >= this.#moment.end) this.#rewind();
    this.#tell({ mode: "playing", problem: null });
    const player = new Player(this.source.base, this.#moment, speed, {
      onEntries: (entries) => this.#pass(entries),
      onEnd: () => (this.source.watch !== null && !this.#moment.isComplete ? this.follow() : this.pause()),
      onProblem: (problem) => this.#tell({ problem, mode: "still" }),
    });
    this.#stopMoving = () => player.stop();
  }

  pause(): void {
    this.#stop();
    this.#tell({ mode: "still" });
  }

  /** Goes to the newest entry and follows the attempt. */
  follow(): void {
    this.goTo("end");
    this.#tell({ mode: "live" });
  }

  /** Goes to before the first entry. */
  #rewind(): void {
    this.store.restore(read(notebookAtSchema, {}));
    this.#hear(0);
    this.#tell({ seq: 0, ms: 0, wallMs: null, entry: null });
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
        // If the newest state cannot be shown, live mode ends.
        const mode = this.#moment.mode === "live" ? "still" : this.#moment.mode;
        this.#tell({ problem: error instanceof Error ? error.message : String(error), mode });
      }
    }
    this.#asking = false;
    this.#tell({ isLoading: false });
  }

  async #show(seq: number | "end"): Promise<void> {
    const query = seq === "end" ? {} : { seq };
    const [state, found] = await Promise.all([
      getJSON(`${this.source.base}/at`, notebookAtSchema, query, this.#gone.signal),
      seq === "end" ? null : this.#entry(seq),
    ]);
    const at = state.seq;
    const entry = at > 0 && at !== seq ? await this.#entry(at) : found;
    const passed = this.#wanted !== null; // another position was requested meanwhile
    this.store.restore(state);
    this.#hear(at);
    this.#tell({
      ...(passed ? {} : { seq: at, entry }),
      end: Math.max(state.end || at, this.#moment.end),
      isComplete: state.complete,
      ms: state.t_ns / 1e6,
      wallMs: parseTimeMs(state.wall),
      heldByConsole: state.held === "console",
      problem: null,
    });
    if (!passed && this.#moment.mode === "live") this.#watch(at + 1);
  }

  async #entry(seq: number): Promise<Entry | null> {
    const { entries } = await readTracePage(this.source.base, { from: seq, limit: 1 }, this.#gone.signal);
    return entries.find((entry) => entry.seq === seq) ?? null;
  }

  /** Follows the trace from an entry on. */
  #watch(from: number): void {
    if (this.source.watch === null || this.#moment.isComplete) {
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
    this.#tell({ mode: "still", isComplete: true });
    this.#onEnd();
  }

  /** Applies entries that follow the current one. */
  #pass(entries: readonly Entry[]): void {
    const last = entries.at(-1);
    if (last === undefined) return;
    this.store.apply(entries);
    if (this.#late === null) this.#note(entries);
    else this.#late.push(...entries);
    const end = Math.max(last.seq, this.#moment.end);
    this.#tell({ seq: last.seq, ms: (last.t_ns ?? 0) / 1e6, wallMs: parseTimeMs(last.wall), entry: last, end });
  }

  /** Adds new entries to checkpoints and marks. */
  #note(entries: readonly Entry[]): void {
    this.agentCheckpoints.add(entries.filter(isAgentEntry));
    this.#tell({
      marks: appendMarks(this.#moment.marks, entries.map(markOf)),
      agentEntryCount: this.agentCheckpoints.length,
    });
  }

  /** Puts the agent's state at entry seq into the store. */
  #hear(seq: number): void {
    const agent = this.agentCheckpoints.at(seq);
    this.store.update((state) => ({ ...state, agent }));
  }

  /** Loads marks and checkpoints page by page in the background. */
  async #load(): Promise<void> {
    const { signal } = this.#gone;
    try {
      await Promise.all([this.#loadTape(signal), this.#loadMarks(signal)]);
      this.#note(this.#late ?? []);
      this.#late = null;
      this.#hear(this.#moment.seq);
      this.#tell({ isLoaded: true });
    } catch (error) {
      if (!signal.aborted) this.#tell({ problem: error instanceof Error ? error.message : String(error) });
    }
  }

  async #loadMarks(signal: AbortSignal): Promise<void> {
    for await (const entries of readTrace(this.source.base, { ...markQuery, brief: true }, signal)) {
      this.#tell({ marks: appendMarks(this.#moment.marks, entries.map(markOf)) });
    }
  }

  async #loadTape(signal: AbortSignal): Promise<void> {
    const all: Entry[] = [];
    for await (const entries of readTrace(this.source.base, agentEntriesQuery, signal)) all.push(...entries);
    if (!hasAgentHistory(all)) {
      all.length = 0;
      for await (const entries of readTrace(this.source.base, streamEntriesQuery, signal)) all.push(...entries);
    }
    this.agentCheckpoints.add(all);
    this.#hear(this.#moment.seq);
    this.#tell({ agentEntryCount: this.agentCheckpoints.length });
  }

  #tell(change: Partial<TimelineState>): void {
    if (this.#gone.signal.aborted) return;
    this.#moment = { ...this.#moment, ...change };
    for (const f of [...this.#listeners]) f();
  }
}

const agentEntryTypes = new Set(streamEntriesQuery.type.split(","));
const agentHops = new Set(agentEntriesQuery.hop.split(","));

function isAgentEntry(entry: Entry): boolean {
  return agentHops.has(entry.hop) && agentEntryTypes.has(entry.msg === null ? "" : typeOfMessage(entry.msg));
}

/** Appends marks that are newer than the last one. */
function appendMarks(marks: readonly TimelineMark[], more: readonly (TimelineMark | null)[]): readonly TimelineMark[] {
  const last = marks.at(-1)?.seq ?? 0;
  const added = more.filter((mark) => mark !== null && mark.seq > last) as TimelineMark[];
  return added.length === 0 ? marks : [...marks, ...added];
}
