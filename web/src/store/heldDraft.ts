/** Bytes of large values that are shown beside what a tape keeps: of one run, and of all. */
export const heldOfRun = 16 << 20;
const heldOfAll = 64 << 20;

/** Which cells hold large values, and how many bytes of them, while that changes. */
export class HeldDraft {
  private cells: ReadonlyMap<string, number>;

  constructor(base: ReadonlyMap<string, number>) {
    this.cells = base;
  }

  /** Notes what a cell holds, now that it has shown something. */
  set(id: string, bytes: number): void {
    if (bytes === 0 && !this.cells.has(id)) return;
    const cells = new Map(this.cells);
    cells.delete(id); // it becomes the newest
    if (bytes > 0) cells.set(id, bytes);
    this.cells = cells;
  }

  forget(id: string): void {
    this.set(id, 0);
  }

  clear(): void {
    if (this.cells.size > 0) this.cells = new Map();
  }

  /** The cells that must let go of what they hold, which is then forgotten. */
  overdue(): string[] {
    let bytes = 0;
    for (const size of this.cells.values()) bytes += size;
    const gone: string[] = [];
    for (const [id, size] of this.cells) {
      if (bytes <= heldOfAll) break;
      bytes -= size;
      gone.push(id);
    }
    for (const id of gone) this.forget(id);
    return gone;
  }

  finish(): ReadonlyMap<string, number> {
    return this.cells;
  }
}
