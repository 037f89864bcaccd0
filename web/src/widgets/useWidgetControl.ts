import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useCommands } from "../commands/commands";
import type { Widget } from "../protocol/messages";
import type { State } from "../store/state";
import { type Store, useSelect, useStore } from "../store/store";
import { jsonText } from "./valueText";
import {
  createWidgetSetting,
  type SendValueOptions,
  type WidgetSetting,
  type WidgetSettingView,
} from "./widgetSetting";

/** What a widget's component needs to show and set the widget's value. */
export interface WidgetControl {
  /** The value to show: the one that is being set, else the kernel's. */
  value: unknown;
  /** Why the value cannot be set; "" if it can. */
  disabledReason: string;
  /** Why the kernel refused the last value; "" if it did not. */
  refusalText: string;
  /** A sentence about what setting the value waits for, if it has waited for more than a second; else "". */
  waitingText: string;
  /** Sets the value. Does nothing if the value cannot be set. */
  set(value: unknown, how?: Omit<SendValueOptions, "send">): void;
  /** Sends a value that waits for the minimum interval at once. */
  flush(): void;
}

const waitingTextDelay = 1000; // milliseconds after which waitingText is shown

// Settings outlive their controls, which are unmounted when they scroll out of view.
const settingsByStore = new WeakMap<Store, Map<string, WidgetSetting>>();

/** Returns the control of a cell's widget; key is absolute. */
export function useWidgetControl(cellId: string, key: string, widget: Widget): WidgetControl {
  const store = useStore();
  const commands = useCommands();
  const setting = useMemo(() => widgetSettingOf(store, cellId, key), [store, cellId, key]);
  const view = useSyncExternalStore(setting.subscribe, setting.view);
  const why = useDisabledReason(widget);
  const late = useHasLasted(view.phase !== "idle");
  const waits =
    view.phase === "sent" ? "Waiting for the kernel." : "Accepted. It takes effect when the running cells are done.";
  return {
    value: view.requested === null ? widget.value : view.requested.value,
    disabledReason: why,
    refusalText: refusalTextOf(view, widget),
    waitingText: late ? waits : "",
    set(value, how) {
      if (why === "" && commands) setting.set(value, { ...how, send: (sent) => commands.setWidget(key, sent) });
    },
    flush: setting.flush,
  };
}

/** Returns why the kernel refused the widget's last value; "" if it did not, or has reported another value since. */
function refusalTextOf({ refusal }: WidgetSettingView, widget: Widget): string {
  return refusal !== null && refusal.kernelValueJson === jsonText(widget.value) ? refusal.text : "";
}

/** Returns why no widget of this session can be set; "" if they can. */
export function useAllDisabledReason(): string {
  const commands = useCommands();
  const kernel = useSelect((state) => state.notebook.kernel);
  if (commands === null) return "Read-only.";
  if (!commands.canRun) return commands.runProblem ?? "Widgets cannot be set here.";
  return kernel === "dead" ? "The kernel has ended." : "";
}

/** Returns why a widget cannot be set; "" if it can. */
function useDisabledReason(widget: Widget): string {
  const none = useAllDisabledReason();
  return none || (widget.readonly ? "The widget is read-only." : "");
}

/** Reports whether a condition has been true for a second. */
function useHasLasted(lasting: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!lasting) return;
    const timer = setTimeout(() => setLate(true), waitingTextDelay);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [lasting]);
  return late;
}

/** Returns the setting of a widget in a store, and creates it at the first call. */
function widgetSettingOf(store: Store, cellId: string, key: string): WidgetSetting {
  const settings = settingsByStore.get(store) ?? new Map<string, WidgetSetting>();
  settingsByStore.set(store, settings);
  const known = settings.get(key);
  if (known !== undefined) return known;
  const source = {
    reportedValue: () => reportedValueOf(store.get(), cellId, key),
    isKernelIdle: () => isKernelIdle(store.get()),
    subscribe: store.subscribe,
  };
  const made = createWidgetSetting(source);
  settings.set(key, made);
  return made;
}

/** Returns the value of a cell's widget that the kernel reported last; null if there is no such widget. */
function reportedValueOf(state: State, cellId: string, key: string): { value: unknown } | null {
  const widget = state.notebook.executions[cellId]?.widgets[key];
  return widget === undefined ? null : { value: widget.value };
}

/** Reports whether no cell is running or queued. */
function isKernelIdle({ notebook: { executions, queue } }: State): boolean {
  return queue.length === 0 && !Object.values(executions).some((run) => run.started || run.pending);
}
