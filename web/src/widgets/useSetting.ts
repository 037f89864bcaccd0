import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useCommands } from "../commands/commands";
import type { Widget } from "../protocol/messages";
import type { State } from "../store/state";
import { type Store, useSelect, useStore } from "../store/store";
import { createSetting, type How, type Setting, type View } from "./setting";
import { jsonText } from "./text";

/** A widget's value, as a control shows and sets it. */
export interface Control {
  /** What is shown: what was asked for while it is on its way, else the kernel's word. */
  value: unknown;
  /** Why it cannot be set; "": it can. */
  why: string;
  /** Why the last value was refused; "": it was not. */
  error: string;
  /** What is waited for, if that takes over a second; else "". */
  waiting: string;
  set(value: unknown, how?: Omit<How, "send">): void;
  /** Sends at once what waits for its pace. */
  flush(): void;
}

const patience = 1000; // milliseconds until it is said that something is waited for

// Settings outlive their controls, which come and go as the notebook is scrolled.
const all = new WeakMap<Store, Map<string, Setting>>();

/** The value of the widget of that absolute key, which a cell has. */
export function useSetting(cellId: string, key: string, widget: Widget): Control {
  const store = useStore();
  const commands = useCommands();
  const setting = useMemo(() => settingOf(store, cellId, key), [store, cellId, key]);
  const view = useSyncExternalStore(setting.subscribe, setting.view);
  const why = useWhyNot(widget);
  const late = useLate(view.phase !== "idle");
  const waits = view.phase === "sent" ? "Waiting for the kernel." : "Set. It counts when the running cells are done.";
  return {
    value: view.wanted === null ? widget.value : view.wanted.value,
    why,
    error: errorOf(view, widget),
    waiting: late ? waits : "",
    set(value, how) {
      if (why === "" && commands) setting.set(value, { ...how, send: (sent) => commands.setWidget(key, sent) });
    },
    flush: setting.flush,
  };
}

/** Why the value was refused that is not there; when the kernel has said another since, that is over. */
function errorOf({ refusal }: View, widget: Widget): string {
  return refusal !== null && refusal.kept === jsonText(widget.value) ? refusal.text : "";
}

/** Why widgets of this session cannot be set; "": they can. */
export function useWhyNone(): string {
  const commands = useCommands();
  const kernel = useSelect((state) => state.notebook.kernel);
  if (commands === null) return "The notebook is only looked at.";
  if (!commands.canRun) return commands.runProblem ?? "Widgets cannot be set here.";
  return kernel === "dead" ? "The kernel is gone." : "";
}

function useWhyNot(widget: Widget): string {
  const none = useWhyNone();
  return none || (widget.readonly ? "The widget is read-only." : "");
}

/** Whether something has lasted for a second. */
function useLate(lasting: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!lasting) return;
    const timer = setTimeout(() => setLate(true), patience);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [lasting]);
  return late;
}

function settingOf(store: Store, cellId: string, key: string): Setting {
  const settings = all.get(store) ?? new Map<string, Setting>();
  all.set(store, settings);
  const known = settings.get(key);
  if (known !== undefined) return known;
  const source = {
    told: () => toldOf(store.get(), cellId, key),
    idle: () => isIdle(store.get()),
    subscribe: store.subscribe,
  };
  const made = createSetting(source);
  settings.set(key, made);
  return made;
}

function toldOf(state: State, cellId: string, key: string): { value: unknown } | null {
  const widget = state.notebook.executions[cellId]?.widgets[key];
  return widget === undefined ? null : { value: widget.value };
}

function isIdle({ notebook: { executions, queue } }: State): boolean {
  return queue.length === 0 && !Object.values(executions).some((run) => run.started || run.pending);
}
