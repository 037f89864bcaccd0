// Sums about where cells are in the list.

import type { State } from "../store/state";
import { isMarkdown, runOf, sourceOf } from "./text";

/** Height of a line of code, in pixels; the style sheets say the same. */
const lineHeight = 20;

/** How high a cell is likely to be that has not been drawn yet, in pixels. */
export function likelyHeight(state: State, id: string): number {
  const source = sourceOf(state, id);
  const lines = source.split("\n", 10_000).length;
  const code = 48 + lines * lineHeight;
  const run = runOf(state, id);
  if (isMarkdown(state, id) || run === null) return code;
  return code + Math.min(400, run.outputs.length * 60) + Object.keys(run.widgets).length * 48;
}

export interface Span {
  start: number;
  end: number;
}

/**
 * How the list is to be scrolled so that a cell is in view: null: not at all. A
 * cell that is higher than the view is left alone while a good part of it shows.
 */
export function alignTo(cell: Span, view: Span): "auto" | "center" | "start" | "end" | null {
  if (cell.start >= view.start && cell.end <= view.end) return null;
  const height = view.end - view.start;
  const shown = Math.min(cell.end, view.end) - Math.max(cell.start, view.start);
  if (cell.end - cell.start > height) {
    if (shown > height / 3) return null;
    return cell.start >= view.start ? "start" : "end";
  }
  return shown < -height ? "center" : "auto";
}

/** The places that are drawn: those in the range, and the one that must not go, in order. */
export function drawnPlaces(range: readonly number[], kept: number): number[] {
  if (kept < 0 || range.includes(kept)) return [...range];
  return [...range, kept].sort((a, b) => a - b);
}

/** Of the places that are drawn, the one that stands apart from the others; -1: none does. */
export function placeApart(drawn: readonly number[], kept: number): number {
  if (drawn.length < 2) return -1;
  if (drawn[0] === kept && drawn[1] !== kept + 1) return kept;
  return drawn.at(-1) === kept && drawn.at(-2) !== kept - 1 ? kept : -1;
}
