import { copyOf } from "../json/record";
import type { Cell, Notebook } from "./state";

/** The cells of a notebook while they are changed: copied when that is first done. */
export class CellsDraft {
  order: readonly string[];
  private cells: Notebook["cells"];

  constructor(private readonly base: Notebook) {
    this.order = base.order;
    this.cells = base.cells;
  }

  /** undefined: there is no such cell. */
  get(id: string): Cell | undefined {
    return Object.hasOwn(this.cells, id) ? this.cells[id] : undefined;
  }

  set(cell: Cell): void {
    this.own()[cell.id] = cell;
  }

  /** Puts a cell in at a place from 0 to the number of cells. */
  insert(cell: Cell, position: number): void {
    this.set(cell);
    this.order = this.order.toSpliced(position, 0, cell.id);
  }

  remove(id: string): void {
    delete this.own()[id];
    this.order = this.order.filter((other) => other !== id);
  }

  /** Puts a cell where it is to be when it has been taken out. */
  move(id: string, position: number): void {
    this.order = this.order.filter((other) => other !== id).toSpliced(position, 0, id);
  }

  /** Makes these the cells, in this order. */
  replace(cells: readonly Cell[]): void {
    this.cells = copyOf(Object.fromEntries(cells.map((cell) => [cell.id, cell])));
    const order = cells.map((cell) => cell.id);
    const same = order.length === this.order.length && order.every((id, i) => id === this.order[i]);
    if (!same) this.order = order;
  }

  finish(): Pick<Notebook, "order" | "cells"> {
    return { order: this.order, cells: this.cells };
  }

  private own(): Record<string, Cell> {
    if (this.cells === this.base.cells) this.cells = copyOf(this.cells);
    return this.cells as Record<string, Cell>;
  }
}
