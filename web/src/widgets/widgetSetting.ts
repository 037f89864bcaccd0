import { jsonText } from "./valueText";

/** The state of setting a widget's value, for its control to show. */
export interface WidgetSettingView {
  /** The value that the user has set, until the kernel reports it; null: the control shows the kernel's value. */
  requested: { value: unknown } | null;
  /** idle: nothing is being set. sent: the kernel has not responded. accepted: the kernel has accepted the value but not reported it yet. */
  phase: "idle" | "sent" | "accepted";
  /** Why the kernel refused the last value, and the JSON of the kernel's value at that time; null if it was not refused. */
  refusal: { text: string; kernelValueJson: string } | null;
}

/** What a WidgetSetting reads from the session. */
export interface WidgetValueSource {
  /** Returns the widget's value that the kernel reported last; null if the widget does not exist. */
  reportedValue(): { value: unknown } | null;
  /** Reports whether no cell is running or queued. */
  isKernelIdle(): boolean;
  /** Calls f whenever reportedValue or isKernelIdle may have changed, until the returned function is called. */
  subscribe(f: () => void): () => void;
}

/** How a value is sent to the kernel. */
export interface SendValueOptions {
  /** Sends a value; rejects if the kernel refuses it or it cannot be sent. */
  send: (value: unknown) => Promise<void>;
  /** Minimum milliseconds between two sends; of the values in between only the last is sent. Default 0. */
  minSendInterval?: number;
  /** Whether the widget is a button: the kernel reports a number of presses instead of the value, so the value is not shown. */
  isPress?: boolean;
}

/** Sets the value of one widget in the kernel, and tracks a value until the kernel has reported or refused it. */
export interface WidgetSetting {
  /** Returns the current state, for display. */
  view(): WidgetSettingView;
  /** Calls f after each change of the state, until the returned function is called. */
  subscribe(f: () => void): () => void;
  /** Shows a value and sends it, at once or after the minimum interval. It replaces a value that is not sent yet. */
  set(value: unknown, how: SendValueOptions): void;
  /** Sends a value that waits for the minimum interval at once; does nothing if there is none. */
  flush(): void;
}

const idleView: WidgetSettingView = { requested: null, phase: "idle", refusal: null };

/** Milliseconds for which an accepted value is shown while the kernel is idle and does not report it. */
const unreportedTimeout = 2000;

/**
 * Returns the setting of one widget.
 *
 *     idle --set--> sent --kernel accepts--> accepted --kernel reports the value--> idle
 *
 * Only the response to the last sent value counts. Reports of values that were sent earlier are
 * ignored. After a refusal the kernel's value is shown again.
 */
export function createWidgetSetting(source: WidgetValueSource): WidgetSetting {
  let view = idleView;
  let setOptions: SendValueOptions | null = null;
  let value: unknown; // the last requested value
  let lastSendNumber = 0; // number of the last send
  let sentAt = Number.NEGATIVE_INFINITY;
  let hasUnsentValue = false;
  let unreportedValues: string[] = []; // JSON of values that were sent and not reported yet, oldest first
  let lastReportedJson = ""; // JSON of the last value reported by the kernel
  let sendsSinceIdle = 0; // number of sends since idle
  let sendTimer: ReturnType<typeof setTimeout> | undefined;
  let unreportedTimer: ReturnType<typeof setTimeout> | undefined;
  let unsubscribe: (() => void) | null = null;
  const listeners = new Set<() => void>();

  const setView = (next: WidgetSettingView) => {
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

/** Sends a value. Resolves to null if it was accepted, else to the reason why it was refused. Never rejects. */
async function refusalOfSend(send: SendValueOptions["send"], value: unknown): Promise<string | null> {
  try {
    await send(value);
    return null;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text || "The value was refused.";
  }
}
