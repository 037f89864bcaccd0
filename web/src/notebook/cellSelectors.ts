import type { Cell, Execution, State } from "../store/state";

/** Returns the cell with an id; null if there is none. */
export function cellOf(state: State, id: string): Cell | null {
  return Object.hasOwn(state.notebook.cells, id) ? (state.notebook.cells[id] ?? null) : null;
}

/** Returns the cell's last execution; null if it has never run. */
export function executionOf(state: State, id: string): Execution | null {
  return Object.hasOwn(state.notebook.executions, id) ? (state.notebook.executions[id] ?? null) : null;
}

/** Returns the cell's source with \n as line ends; "" if there is no such cell. */
export function sourceOf(state: State, id: string): string {
  const source: unknown = cellOf(state, id)?.source;
  if (typeof source !== "string") return "";
  return source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
}

/** Returns the title of a cell; "" if it has none. */
export function titleOf(state: State, id: string): string {
  const title: unknown = cellOf(state, id)?.title;
  return typeof title === "string" ? title : "";
}

export function isMarkdown(state: State, id: string): boolean {
  return cellOf(state, id)?.type === "markdown";
}
