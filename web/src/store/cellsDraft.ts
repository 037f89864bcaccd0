import { copyOfRecord } from "../json/values";
import type { Cell, Notebook } from "./state";

/** The cells of a notebook while they are changed. They are copied at the first change. */
export class CellsDraft {
  order: readonly string[];
  private cells: Notebook["cells"];

  constructor(private readonly base: Notebook) {
    this.order = base.order;
    this.cells = base.cells;
  }

  /** Returns a cell; undefined if there is none with this id. */
  get(id: string): Cell | undefined {
    return Object.hasOwn(this.cells, id) ? this.cells[id] : undefined;
  }

  set(cell: Cell): void {
    this.writable()[cell.id] = cell;
  }

  /** Inserts a cell at a position from 0 to the number of cells. */
  insert(cell: Cell, position: number): void {
    this.set(cell);
    this.order = this.order.toSpliced(position, 0, cell.id);
  }

  remove(id: string): void {
    delete this.writable()[id];
    this.order = this.order.filter((other) => other !== id);
  }

  /** Moves a cell to a position, counted without the cell itself. */
  move(id: string, position: number): void {
    this.order = this.order.filter((other) => other !== id).toSpliced(position, 0, id);
  }

  /** Replaces all cells. */
  replaceAll(cells: readonly Cell[]): void {
    this.cells = copyOfRecord(Object.fromEntries(cells.map((cell) => [cell.id, cell])));
    const order = cells.map((cell) => cell.id);
    const isSameOrder = order.length === this.order.length && order.every((id, i) => id === this.order[i]);
    if (!isSameOrder) this.order = order;
  }

  finish(): Pick<Notebook, "order" | "cells"> {
    return { order: this.order, cells: this.cells };
  }

  private writable(): Record<string, Cell> {
    if (this.cells === this.base.cells) this.cells = copyOfRecord(this.cells);
    return this.cells as Record<string, Cell>;
  }
}
