import { useCallback, useMemo } from "react";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";

/**
 * Returns a function that names a cell by its position in the notebook, counted from 1, or by its
 * id if the notebook does not contain it.
 */
export function useCellNames(): (id: string) => string {
  const order = useSelect((state) => state.notebook.order);
  const places = useMemo(() => new Map(order.map((id, index) => [id, index + 1])), [order]);
  return useCallback((id) => `cell ${places.get(id) ?? oneLine(id, 40)}`, [places]);
}

/**
 * Returns the title of a cell, else the first meaningful line of its code; "" if the cell is empty
 * or does not exist.
 */
export function useCellTitleOrLine(id: string): string {
  return useSelect(({ notebook: { cells } }) => {
    const cell = Object.hasOwn(cells, id) ? cells[id] : undefined;
    return oneLine(cell?.title || firstMeaningfulLine(cell?.source ?? ""), 80);
  });
}

/** Returns the first line of code that is not empty, an import or a comment; else the first line. */
function firstMeaningfulLine(source: string): string {
  const lines = source.slice(0, 4000).trimStart().split("\n");
  return lines.find((line) => !/^\s*(import\b|from\b|#|%|;|\/\/|$)/.test(line)) ?? lines[0] ?? "";
}
