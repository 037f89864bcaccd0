// Computations of cell positions in the list.

import type { State } from "../store/state";
import { executionOf, isMarkdown, sourceOf } from "./cellSelectors";

/** Height of a line of code in pixels. Must equal the line height in the style sheets. */
const codeLineHeightPx = 20;

/** Estimates the height of a cell that has not been drawn yet, in pixels. */
export function estimateCellHeight(state: State, id: string): number {
  const source = sourceOf(state, id);
  const lines = source.split("\n", 10_000).length;
  const code = 48 + lines * codeLineHeightPx;
  const run = executionOf(state, id);
  if (isMarkdown(state, id) || run === null) return code;
  return code + Math.min(400, run.outputs.length * 60) + Object.keys(run.widgets).length * 48;
}

export interface PixelRange {
  start: number;
  end: number;
}

/**
 * Returns how to scroll the list so that a cell is in view; null means not to scroll. A cell higher
 * than the view is not moved while more than a third of the view shows it.
 */
export function scrollAlignmentOfCell(cell: PixelRange, view: PixelRange): "auto" | "center" | "start" | "end" | null {
  if (cell.start >= view.start && cell.end <= view.end) return null;
  const height = view.end - view.start;
  const shown = Math.min(cell.end, view.end) - Math.max(cell.start, view.start);
  if (cell.end - cell.start > height) {
    if (shown > height / 3) return null;
    return cell.start >= view.start ? "start" : "end";
  }
  return shown < -height ? "center" : "auto";
}

/**
 * Returns the indexes of the cells to draw, in order: those of the visible range and the kept one,
 * such as the selected cell's.
 */
export function indexesOfDrawnCells(range: readonly number[], kept: number): number[] {
  if (kept < 0 || range.includes(kept)) return [...range];
  return [...range, kept].sort((a, b) => a - b);
}

/** Returns the kept index if it is not adjacent to the other drawn indexes; else -1. */
export function detachedCellIndex(drawn: readonly number[], kept: number): number {
  if (drawn.length < 2) return -1;
  if (drawn[0] === kept && drawn[1] !== kept + 1) return kept;
  return drawn.at(-1) === kept && drawn.at(-2) !== kept - 1 ? kept : -1;
}
