import { copyOfRecord } from "../json/values";
import { ExecutionDraft } from "./executionDraft";
import { RetainedValues } from "./retainedValues";
import type { Execution, Notebook } from "./state";
import { readOutput } from "./storedOutput";

/** How many cells the kernel's messages can create executions for. */
const maxCellsWithExecution = 10_000;

/** Bytes of outputs that are kept of one cell: the server keeps as many. */
export const outputLimit = 1 << 20;

/** The executions of a notebook while they are changed. One that is not changed stays the same object. */
export class ExecutionsDraft {
  queue: readonly string[];
  readonly retained: RetainedValues;
  private executions: Notebook["executions"];
  private disposed: ReadonlySet<string>;
  private readonly drafts = new Map<string, ExecutionDraft>();
  /** Cells that have an execution or are disposed; -1: to be counted. */
  private cellCount = -1;
  /** Cells whose execution has started; null: to be looked for. */
  private started: Set<string> | null = null;
  /** Cells by the display ids of their outputs; null: to be looked for. */
  private displays: Map<string, Set<string>> | null = null;

  /** limit is how many bytes of outputs are kept of one cell. */
  constructor(
    private readonly base: Notebook,
    readonly limit: number = outputLimit,
  ) {
    this.queue = base.queue;
    this.executions = base.executions;
    this.disposed = base.internals?.disposed ?? new Set();
    this.retained = new RetainedValues(base.internals?.retained ?? new Map());
  }

  /** Returns the draft of a cell, a new one if it has none; null if the cell is disposed, or there are too many. */
  getOrCreate(id: string): ExecutionDraft | null {
    const draft = this.get(id);
    if (draft !== null) return draft;
    if (this.disposed.has(id) || this.size() >= maxCellsWithExecution) return null;
    return this.begin(id);
  }

  /** Returns the draft of a cell; null if the cell has no execution. */
  get(id: string): ExecutionDraft | null {
    const draft = this.drafts.get(id);
    if (draft !== undefined) return draft;
    const execution = Object.hasOwn(this.executions, id) ? this.executions[id] : undefined;
    return execution === undefined ? null : this.copy(id, execution);
  }

  /** Returns the ids of all cells with an execution. */
  ids(): string[] {
    const added = [...this.drafts.keys()].filter((id) => !Object.hasOwn(this.executions, id));
    return [...Object.keys(this.executions), ...added];
  }

  /** Returns the executions that have started and not ended. The caller ends them. */
  takeStarted(): ExecutionDraft[] {
    this.started ??= this.findStarted();
    const ids = [...this.started];
    this.started.clear();
    return ids.flatMap((id) => this.get(id) ?? []).filter((draft) => draft.started);
  }

  /** Records that the execution of a cell has started. */
  noteStarted(id: string): void {
    this.started?.add(id);
  }

  private findStarted(): Set<string> {
    const found = Object.keys(this.executions).filter((id) => !this.drafts.has(id) && this.executions[id]?.started);
    for (const [id, draft] of this.drafts) if (draft.started) found.push(id);
    return new Set(found);
  }

  /** Replaces the execution of a cell by an idle one. */
  begin(id: string): ExecutionDraft {
    const isNew = !this.drafts.has(id) && !Object.hasOwn(this.executions, id);
    if (isNew && this.cellCount >= 0) this.cellCount++;
    this.retained.forget(id);
    const draft = new ExecutionDraft(null, this.limit);
    this.drafts.set(id, draft);
    return draft;
  }

  /** Accepts messages about a disposed cell again. */
  revive(id: string): void {
    if (!this.disposed.has(id)) return;
    this.disposed = new Set([...this.disposed].filter((other) => other !== id));
    this.cellCount = -1;
  }

  /** Removes the execution of a deleted cell. Later messages about the cell are ignored. */
  dispose(id: string): void {
    this.drafts.delete(id);
    if (Object.hasOwn(this.executions, id)) delete this.writable()[id];
    this.retained.forget(id);
    this.disposed = new Set(this.disposed).add(id);
    this.cellCount = -1;
    if (this.queue.includes(id)) this.queue = this.queue.filter((other) => other !== id);
  }

  /** Accepts messages about all disposed cells again: there is another kernel. */
  forgetDisposed(): void {
    if (this.disposed.size > 0) this.disposed = new Set();
    this.cellCount = -1;
  }

  /** Removes all executions. */
  clear(): void {
    this.drafts.clear();
    this.executions = copyOfRecord({});
    this.disposed = new Set();
    this.retained.clear();
    this.queue = [];
    this.cellCount = -1;
  }

  /** Returns the ids of the cells that may have an output with a display id. */
  cellsWithDisplay(displayId: string): Iterable<string> {
    if (this.displays === null) {
      this.displays = new Map();
      for (const id of Object.keys(this.executions)) {
        for (const found of displayIdsOfExecution(this.executions[id])) this.noteDisplay(found, id);
      }
      for (const [id, draft] of this.drafts) {
        for (const output of draft.buffer.outputs()) this.noteDisplay(output.displayId, id);
      }
    }
    return this.displays.get(displayId) ?? [];
  }

  /** Records that a cell has an output with a display id. */
  noteDisplay(displayId: string, id: string): void {
    if (displayId === "" || this.displays === null) return;
    const ids = this.displays.get(displayId);
    if (ids === undefined) this.displays.set(displayId, new Set([id]));
    else ids.add(id);
  }

  finish(): Pick<Notebook, "queue" | "executions" | "internals"> {
    for (const id of this.retained.evict()) this.get(id)?.dropRetained();
    for (const [id, draft] of this.drafts) this.writable()[id] = draft.finish();
    const { disposed } = this;
    const retained = this.retained.finish();
    const old = this.base.internals;
    const isSame = old !== undefined && old.disposed === disposed && old.retained === retained;
    const isNeeded = disposed.size > 0 || retained.size > 0;
    const internals = isNeeded ? { internals: isSame ? old : { disposed, retained } } : {};
    return { queue: this.queue, executions: this.executions, ...internals };
  }

  private copy(id: string, execution: Execution): ExecutionDraft {
    const draft = new ExecutionDraft(execution, this.limit);
    this.drafts.set(id, draft);
    return draft;
  }

  private size(): number {
    if (this.cellCount < 0) this.cellCount = this.ids().length + this.disposed.size;
    return this.cellCount;
  }

  private writable(): Record<string, Execution> {
    if (this.executions === this.base.executions) this.executions = copyOfRecord(this.executions);
    return this.executions as Record<string, Execution>;
  }
}

function* displayIdsOfExecution(execution: Execution | undefined): Generator<string> {
  if (execution?.internals !== undefined) {
    for (const output of execution.internals.buffer.outputs()) yield output.displayId;
    return;
  }
  for (const output of execution?.outputs ?? []) {
    if (output.output_type === "display_data" || output.output_type === "execute_result") {
      yield readOutput(0, output.output_type, { ...output })?.displayId ?? "";
    }
  }
}
