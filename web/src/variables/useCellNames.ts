import { useCallback, useMemo } from "react";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";

/** Says what a cell is called: by its place in the notebook, from 1, or by its id where it has none. */
export function useCellNames(): (id: string) => string {
  const order = useSelect((state) => state.notebook.order);
  const places = useMemo(() => new Map(order.map((id, index) => [id, index + 1])), [order]);
  return useCallback((id) => `cell ${places.get(id) ?? oneLine(id, 40)}`, [places]);
}

/** The title of a cell, or the first line of its code that says something; "": there is no such cell, or nothing in it. */
export function useCellText(id: string): string {
  return useSelect(({ notebook: { cells } }) => {
    const cell = Object.hasOwn(cells, id) ? cells[id] : undefined;
    return oneLine(cell?.title || tellingLine(cell?.source ?? ""), 80);
  });
}

/** The first line that is neither empty, nor an import or a comment; else the first one. */
function tellingLine(source: string): string {
  const lines = source.slice(0, 4000).trimStart().split("\n");
  return lines.find((line) => !/^\s*(import\b|from\b|#|%|;|\/\/|$)/.test(line)) ?? lines[0] ?? "";
}
