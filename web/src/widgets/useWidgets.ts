import { useMemo, useRef } from "react";
import { read, string } from "../json/schema";
import { isObject } from "../json/values";
import type { Output, Widget } from "../protocol/messages";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import type { Widgets } from "./arrange";

const none: Widgets = {};

/**
 * The widgets of a cell. While the cell runs again they are those that it had, until
 * it has made others: a slider that its own cell reads would else go away under the
 * hand that drags it.
 */
export function useWidgets(cellId: string): Widgets {
  const told = useSelect((state) => state.notebook.executions[cellId]?.widgets ?? none);
  const running = useSelect((state) => state.notebook.executions[cellId]?.started ?? false);
  const held = useRef<{ cellId: string; widgets: Widgets }>({ cellId, widgets: told });
  const keep = running && held.current.cellId === cellId && isEmpty(told);
  if (!keep) held.current = { cellId, widgets: told };
  return held.current.widgets;
}

function isEmpty(widgets: Widgets): boolean {
  for (const _ in widgets) return false;
  return true;
}

/** The outputs of a cell that no plot widget of it shows; undefined: it has not run. */
export function useFreeOutputs(cellId: string): readonly Output[] | undefined {
  const outputs = useSelect((state) => state.notebook.executions[cellId]?.outputs);
  const widgets = useWidgets(cellId);
  return useMemo(() => {
    const taken = new Set(Object.entries(widgets).flatMap(([key, widget]) => plotIds(key, widget)));
    return taken.size === 0 ? outputs : outputs?.filter((output) => !taken.has(displayId(output)));
  }, [outputs, widgets]);
}

/** The display ids that a widget shows: its key, or what it says. */
function plotIds(key: string, widget: Widget | undefined): string[] {
  return widget?.type === "plot" ? [read(string, widget.display_id) || key] : [];
}

/** The outputs of a cell that a plot widget shows. */
export function usePlot(cellId: string, key: string, widget: Widget): Output[] {
  const outputs = useSelect((state) => state.notebook.executions[cellId]?.outputs);
  return useMemo(() => {
    const ids = plotIds(key, widget);
    return (outputs ?? []).filter((output) => ids.includes(displayId(output)));
  }, [outputs, key, widget]);
}

/** The display id of an output; "" for one that has none. */
function displayId(output: Output): string {
  if (!isObject(output) || !("transient" in output) || !isObject(output.transient)) return "";
  return read(string, output.transient.display_id);
}

/** The id of the cell that has the widget of an absolute key; null: none has. */
export function ownerOf({ notebook: { executions } }: State, key: string): string | null {
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) {
    const id = key.slice(0, at);
    if (Object.hasOwn(executions, id) && Object.hasOwn(executions[id]?.widgets ?? none, key)) return id;
  }
  return null;
}
