import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useCommands } from "../commands/commands";
import type { Widget } from "../protocol/messages";
import type { State } from "../store/state";
import { type Store, useSelect, useStore } from "../store/store";
import { createSetting, type How, type Setting, type View } from "./setting";
import { jsonText } from "./text";

/** A widget's value as a control shows and sets it. */
export interface Control {
  /** The requested value while it is on its way, else the kernel's. */
  value: unknown;
  /** Why it cannot be set; "": it can. */
  why: string;
  /** Why the last value was refused; "": it was not. */
  error: string;
  /** What is waited for, if that takes longer than a second; else "". */
  waiting: string;
  set(value: unknown, how?: Omit<How, "send">): void;
  /** Sends a value that is waiting for the minimum interval at once. */
  flush(): void;
}

const patience = 1000; // milliseconds after which waiting is shown

// Settings outlive their controls, which are unmounted when they scroll out of view.
const all = new WeakMap<Store, Map<string, Setting>>();

/** Returns the control of the widget with this absolute key. */
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

/** Returns why the value was refused; "" if the kernel has reported another value since. */
function errorOf({ refusal }: View, widget: Widget): string {
  return refusal !== null && refusal.kept === jsonText(widget.value) ? refusal.text : "";
}

/** Returns why the widgets of this session cannot be set; "": they can. */
export function useWhyNone(): string {
  const commands = useCommands();
  const kernel = useSelect((state) => state.notebook.kernel);
  if (commands === null) return "Read-only.";
  if (!commands.canRun) return commands.runProblem ?? "Widgets cannot be set here.";
  return kernel === "dead" ? "The kernel is gone." : "";
}

function useWhyNot(widget: Widget): string {
  const none = useWhyNone();
  return none || (widget.readonly ? "The widget is read-only." : "");
}

/** Reports whether a condition has lasted for a second. */
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
