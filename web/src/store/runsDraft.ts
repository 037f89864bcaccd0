import { copyOf } from "../json/record";
import { HeldDraft } from "./heldDraft";
import { OpenRun } from "./openRun";
import { readRich } from "./rich";
import type { Notebook, Run } from "./state";

/** How many cells frames can make known. */
const mostCells = 10_000;

/** Bytes of the outputs of one cell that are kept: as many as the server keeps. */
export const textLimit = 1 << 20;

/** The runs of a notebook while they are changed. A run that is not touched stays the same object. */
export class RunsDraft {
  queue: readonly string[];
  readonly held: HeldDraft;
  private runs: Notebook["runs"];
  private disposed: ReadonlySet<string>;
  private readonly open = new Map<string, OpenRun>();
  private count = -1;
  private started: Set<string> | null = null;
  private displays: Map<string, Set<string>> | null = null;

  constructor(
    private readonly base: Notebook,
    readonly limit: number = textLimit,
  ) {
    this.queue = base.queue;
    this.runs = base.runs;
    this.disposed = base.memory?.disposed ?? new Set();
    this.held = new HeldDraft(base.memory?.held ?? new Map());
  }

  /** The run of a cell, new where there was none; null: the cell is disposed of, or one too many. */
  live(id: string): OpenRun | null {
    const open = this.known(id);
    if (open !== null) return open;
    if (this.disposed.has(id) || this.size() >= mostCells) return null;
    return this.begin(id);
  }

  /** The run of a cell that was seen; null: it was not. */
  known(id: string): OpenRun | null {
    const open = this.open.get(id);
    if (open !== undefined) return open;
    const run = Object.hasOwn(this.runs, id) ? this.runs[id] : undefined;
    return run === undefined ? null : this.touch(id, run);
  }

  /** Ids of all cells that were seen. */
  ids(): string[] {
    const opened = [...this.open.keys()].filter((id) => !Object.hasOwn(this.runs, id));
    return [...Object.keys(this.runs), ...opened];
  }

  /** Takes the runs that have begun and not ended: who asks ends them. */
  takeStarted(): OpenRun[] {
    this.started ??= this.findStarted();
    const ids = [...this.started];
    this.started.clear();
    return ids.flatMap((id) => this.known(id) ?? []).filter((run) => run.started);
  }

  /** Notes that the run of a cell has begun. */
  noteStarted(id: string): void {
    this.started?.add(id);
  }

  private findStarted(): Set<string> {
    const before = Object.keys(this.runs).filter((id) => !this.open.has(id) && this.runs[id]?.started === true);
    for (const [id, run] of this.open) if (run.started) before.push(id);
    return new Set(before);
  }

  /** A run of which nothing is known, in the place of what there was. */
  begin(id: string): OpenRun {
    const isNew = !this.open.has(id) && !Object.hasOwn(this.runs, id);
    if (isNew && this.count >= 0) this.count++;
    this.held.forget(id);
    const run = new OpenRun(null, this.limit);
    this.open.set(id, run);
    return run;
  }

  /** Lets a cell that was disposed of be heard of again. */
  revive(id: string): void {
    if (!this.disposed.has(id)) return;
    this.disposed = new Set([...this.disposed].filter((other) => other !== id));
    this.count = -1;
  }

  dispose(id: string): void {
    this.open.delete(id);
    if (Object.hasOwn(this.runs, id)) delete this.own()[id];
    this.held.forget(id);
    this.disposed = new Set(this.disposed).add(id);
    this.count = -1;
    if (this.queue.includes(id)) this.queue = this.queue.filter((other) => other !== id);
  }

  /** Forgets which cells were disposed of, as with another kernel. */
  forgetDisposed(): void {
    if (this.disposed.size > 0) this.disposed = new Set();
    this.count = -1;
  }

  /** Forgets all. */
  clear(): void {
    this.open.clear();
    this.runs = copyOf({});
    this.disposed = new Set();
    this.held.clear();
    this.queue = [];
    this.count = -1;
  }

  /** Ids of the cells that may show something under a display id. */
  showing(displayId: string): Iterable<string> {
    if (this.displays === null) {
      this.displays = new Map();
      for (const id of Object.keys(this.runs)) {
        for (const shown of displayIds(this.runs[id])) this.noteDisplay(shown, id);
      }
      for (const [id, run] of this.open) {
        for (const rich of run.tape.rich()) this.noteDisplay(rich.displayId, id);
      }
    }
    return this.displays.get(displayId) ?? [];
  }

  /** Notes that a cell shows something under a display id. */
  noteDisplay(displayId: string, id: string): void {
    if (displayId === "" || this.displays === null) return;
    const ids = this.displays.get(displayId);
    if (ids === undefined) this.displays.set(displayId, new Set([id]));
    else ids.add(id);
  }

  finish(): Pick<Notebook, "queue" | "runs" | "memory"> {
    for (const id of this.held.overdue()) this.known(id)?.release();
    for (const [id, run] of this.open) this.own()[id] = run.finish();
    const { disposed } = this;
    const held = this.held.finish();
    const memory = this.base.memory;
    const same = memory !== undefined && memory.disposed === disposed && memory.held === held;
    const needed = disposed.size > 0 || held.size > 0;
    return { queue: this.queue, runs: this.runs, ...(needed ? { memory: same ? memory : { disposed, held } } : {}) };
  }

  private touch(id: string, run: Run): OpenRun {
    const open = new OpenRun(run, this.limit);
    this.open.set(id, open);
    return open;
  }

  private size(): number {
    if (this.count < 0) this.count = this.ids().length + this.disposed.size;
    return this.count;
  }

  private own(): Record<string, Run> {
    if (this.runs === this.base.runs) this.runs = copyOf(this.runs);
    return this.runs as Record<string, Run>;
  }
}

function* displayIds(run: Run | undefined): Generator<string> {
  if (run?.memory !== undefined) {
    for (const rich of run.memory.tape.rich()) yield rich.displayId;
    return;
  }
  for (const output of run?.outputs ?? []) {
    if (output.output_type === "display_data" || output.output_type === "execute_result") {
      yield readRich(0, output.output_type, { ...output })?.displayId ?? "";
    }
  }
}
