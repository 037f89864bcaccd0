/** Bytes of large values that one execution may retain for display beside its buffer. */
export const maxRetainedPerCell = 16 << 20;
/** Bytes of large values that all executions together may retain. */
const maxRetainedInTotal = 64 << 20;

/** Counts the bytes of large values that each cell retains, while a state is changed. */
export class RetainedValues {
  /** Bytes by cell id, the cell that changed last at the end. */
  private cells: ReadonlyMap<string, number>;

  constructor(base: ReadonlyMap<string, number>) {
    this.cells = base;
  }

  /** Sets how many bytes a cell retains and makes it the newest. */
  set(id: string, bytes: number): void {
    if (bytes === 0 && !this.cells.has(id)) return;
    const cells = new Map(this.cells);
    cells.delete(id);
    if (bytes > 0) cells.set(id, bytes);
    this.cells = cells;
  }

  forget(id: string): void {
    this.set(id, 0);
  }

  clear(): void {
    if (this.cells.size > 0) this.cells = new Map();
  }

  /** Forgets the oldest cells until the rest is within the limit, and returns them: they must drop their values. */
  evict(): string[] {
    let bytes = 0;
    for (const size of this.cells.values()) bytes += size;
    const evicted: string[] = [];
    for (const [id, size] of this.cells) {
      if (bytes <= maxRetainedInTotal) break;
      bytes -= size;
      evicted.push(id);
    }
    for (const id of evicted) this.forget(id);
    return evicted;
  }

  finish(): ReadonlyMap<string, number> {
    return this.cells;
  }
}
