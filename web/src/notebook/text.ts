import type { Cell, Execution, State } from "../store/state";

/** The cell, null when there is none of that id. */
export function cellOf(state: State, id: string): Cell | null {
  return Object.hasOwn(state.notebook.cells, id) ? (state.notebook.cells[id] ?? null) : null;
}

/** The cell's runs, null when it has never run. */
export function runOf(state: State, id: string): Execution | null {
  return Object.hasOwn(state.notebook.executions, id) ? (state.notebook.executions[id] ?? null) : null;
}

/** The cell's source with line ends as an editor has them, "" when there is none. */
export function sourceOf(state: State, id: string): string {
  const source: unknown = cellOf(state, id)?.source;
  if (typeof source !== "string") return "";
  return source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
}

/** The cell's title, "" when it has none. */
export function titleOf(state: State, id: string): string {
  const title: unknown = cellOf(state, id)?.title;
  return typeof title === "string" ? title : "";
}

export function isMarkdown(state: State, id: string): boolean {
  return cellOf(state, id)?.type === "markdown";
}
