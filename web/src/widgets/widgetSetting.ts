import { jsonText } from "./valueText";

/** What a control shows while its value is being set. */
export interface SettingView {
  /** The requested value, until the kernel has confirmed it; null: the kernel's value is shown. */
  requested: { value: unknown } | null;
  /** sent: no response yet. accepted: accepted but not reported back yet, because a cell is running. */
  phase: "idle" | "sent" | "accepted";
  /** Why the last value was refused, and the JSON of the kernel's value; null: it was not refused. */
  refusal: { text: string; kernelValueJson: string } | null;
}

/** What a setting needs to know of the session. */
export interface KernelValueSource {
  /** Returns the last value reported by the kernel; null if the widget does not exist. */
  reportedValue(): { value: unknown } | null;
  /** Reports whether no cell is running or queued. */
  isKernelIdle(): boolean;
  /** Calls f whenever told or idle may return something else. The returned function ends that. */
  subscribe(f: () => void): () => void;
}

export interface SetOptions {
  send: (value: unknown) => Promise<void>;
  /** Minimum milliseconds between two sends; of the values in between only the last is sent. Default 0. */
  minSendInterval?: number;
  /** The kernel reports something else than the value, such as the number of presses of a button. */
  isPress?: boolean;
}

/** The value of one widget on its way to the kernel. */
export interface WidgetSetting {
  view(): SettingView;
  subscribe(f: () => void): () => void;
  set(value: unknown, how: SetOptions): void;
  /** Sends a value that is waiting for the minimum interval at once. */
  flush(): void;
}

const idleView: SettingView = { requested: null, phase: "idle", refusal: null };

/**
 * How long an accepted value is shown, in milliseconds, while nothing is running and the kernel
 * does not report it.
 */
const unreportedTimeout = 2000;

/**
 * Makes a setting.
 *
 *     idle --set--> sent --answer--> accepted --told--> idle
 *
 * Only the answer to what was sent last counts, and of what the kernel tells
 * meanwhile the echoes of what was sent before are passed over. A refusal puts the
 * kernel's word back.
 */
export function createWidgetSetting(source: KernelValueSource): WidgetSetting {
  let view = idleView;
  let setOptions: SetOptions | null = null;
  let value: unknown; // the last requested value
  let lastSendNumber = 0; // number of the last send
  let sentAt = Number.NEGATIVE_INFINITY;
  let hasUnsentValue = false;
  let unreportedValues: string[] = []; // values that were sent and not reported yet, oldest first
  let lastReportedJson = ""; // JSON of the last value reported by the kernel
  let sendsSinceIdle = 0; // number of sends since idle
  let sendTimer: ReturnType<typeof setTimeout> | undefined;
  let unreportedTimer: ReturnType<typeof setTimeout> | undefined;
  let unsubscribe: (() => void) | null = null;
  const listeners = new Set<() => void>();

  const setView = (next: SettingView) => {
    view = next;
    for (const f of [...listeners]) f();
  };

  const finish = (error: string | null) => {
    clearTimeout(unreportedTimer);
    unreportedTimer = undefined;
    unsubscribe?.();
    unsubscribe = null;
    unreportedValues = [];
    sendsSinceIdle = 0;
    setView(
      error === null ? idleView : { ...idleView, refusal: { text: error, kernelValueJson: reportedJson() ?? "" } },
    );
  };

  const sendValue = () => {
    clearTimeout(sendTimer);
    sendTimer = undefined;
    if (!hasUnsentValue || setOptions === null) return;
    hasUnsentValue = false;
    const sendNumber = ++lastSendNumber;
    sentAt = performance.now();
    sendsSinceIdle += 1;
    unreportedValues.push(jsonText(value));
    setView({ ...view, phase: "sent" });
    refusalOfSend(setOptions.send, value).then((error) => {
      if (sendNumber !== lastSendNumber || hasUnsentValue) return;
      if (error !== null) finish(error);
      else handleAccepted();
    });
  };

  const handleAccepted = () => {
    if (setOptions?.isPress) return finish(null);
    setView({ ...view, phase: "accepted" });
    handleReport();
    const same = view.requested !== null && reportedJson() === jsonText(value);
    if (same && (sendsSinceIdle === 1 || unreportedValues.length === 0)) finish(null);
  };

  /** Returns the kernel's current value as JSON. */
  const reportedJson = (): string | null => {
    const word = source.reportedValue();
    return word === null ? null : jsonText(word.value);
  };

  const handleReport = () => {
    const now = reportedJson();
    if (now !== null && now !== lastReportedJson) {
      lastReportedJson = now;
      const echo = unreportedValues.indexOf(now);
      const last = echo === unreportedValues.length - 1;
      unreportedValues = echo < 0 ? unreportedValues : unreportedValues.slice(echo + 1);
      if (view.phase === "accepted" && !hasUnsentValue && (echo < 0 || last)) return finish(null);
    }
    updateUnreportedTimer();
  };

  /**
   * Gives up waiting for a value that will not be reported any more, such as one of a widget that
   * was created anew.
   */
  const updateUnreportedTimer = () => {
    if (view.phase !== "accepted" || hasUnsentValue || !source.isKernelIdle()) {
      clearTimeout(unreportedTimer);
      unreportedTimer = undefined;
      return;
    }
    unreportedTimer ??= setTimeout(() => finish(null), unreportedTimeout);
  };

  return {
    view: () => view,
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    set(wanted, next) {
      value = wanted;
      setOptions = next;
      hasUnsentValue = true;
      if (unsubscribe === null) {
        lastReportedJson = reportedJson() ?? "";
        unsubscribe = source.subscribe(handleReport);
      }
      setView({ requested: next.isPress ? null : { value }, phase: view.phase, refusal: null });
      const rest = (next.minSendInterval ?? 0) - (performance.now() - sentAt);
      if (rest <= 0) sendValue();
      else sendTimer ??= setTimeout(sendValue, rest);
    },
    flush: sendValue,
  };
}

/** Resolves to null if the value was accepted, else to the reason why not. Never rejects. */
async function refusalOfSend(send: SetOptions["send"], value: unknown): Promise<string | null> {
  try {
    await send(value);
    return null;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text || "The value was refused.";
  }
}
