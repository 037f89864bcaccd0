import { useMemo, useRef } from "react";
import { read, string } from "../json/schema";
import { isObject } from "../json/values";
import type { Output, Widget } from "../protocol/messages";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import type { WidgetsByKey } from "./arrangeWidgets";

const noWidgets: WidgetsByKey = {};

/**
 * Returns the widgets of a cell by absolute key. While the cell runs again, returns the old ones until it has
 * created new ones: otherwise a slider that its own cell reads would vanish while it is dragged.
 */
export function useWidgets(cellId: string): WidgetsByKey {
  const currentWidgets = useSelect((state) => state.notebook.executions[cellId]?.widgets ?? noWidgets);
  const running = useSelect((state) => state.notebook.executions[cellId]?.started ?? false);
  const shownWidgets = useRef<{ cellId: string; widgets: WidgetsByKey }>({ cellId, widgets: currentWidgets });
  const keep = running && shownWidgets.current.cellId === cellId && hasNoWidgets(currentWidgets);
  if (!keep) shownWidgets.current = { cellId, widgets: currentWidgets };
  return shownWidgets.current.widgets;
}

function hasNoWidgets(widgets: WidgetsByKey): boolean {
  for (const _ in widgets) return false;
  return true;
}

/** Returns the outputs of a cell without those that its plot widgets show; undefined if it has not run. */
export function useOutputsWithoutPlots(cellId: string): readonly Output[] | undefined {
  const outputs = useSelect((state) => state.notebook.executions[cellId]?.outputs);
  const widgets = useWidgets(cellId);
  return useMemo(() => {
    const taken = new Set(Object.entries(widgets).flatMap(([key, widget]) => plotDisplayIds(key, widget)));
    return taken.size === 0 ? outputs : outputs?.filter((output) => !taken.has(displayIdOf(output)));
  }, [outputs, widgets]);
}

/** Returns the display id of the output that a plot widget shows, from its state or else its key; [] for any other widget. */
function plotDisplayIds(key: string, widget: Widget | undefined): string[] {
  return widget?.type === "plot" ? [read(string, widget.display_id) || key] : [];
}

/** Returns the outputs of a cell that one of its plot widgets shows. */
export function usePlotOutputs(cellId: string, key: string, widget: Widget): Output[] {
  const outputs = useSelect((state) => state.notebook.executions[cellId]?.outputs);
  return useMemo(() => {
    const ids = plotDisplayIds(key, widget);
    return (outputs ?? []).filter((output) => ids.includes(displayIdOf(output)));
  }, [outputs, key, widget]);
}

/** Returns the display id of an output; "" if it has none. */
function displayIdOf(output: Output): string {
  if (!isObject(output) || !("transient" in output) || !isObject(output.transient)) return "";
  return read(string, output.transient.display_id);
}

/** Returns the id of the cell that has the widget with this absolute key; null if none has. */
export function cellIdOfWidget({ notebook: { executions } }: State, key: string): string | null {
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) {
    const id = key.slice(0, at);
    if (Object.hasOwn(executions, id) && Object.hasOwn(executions[id]?.widgets ?? noWidgets, key)) return id;
  }
  return null;
}
