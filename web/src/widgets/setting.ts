import { jsonText } from "./text";

/** What a control shows while its value is being set. */
export interface View {
  /** The requested value, until the kernel has confirmed it; null: the kernel's value is shown. */
  wanted: { value: unknown } | null;
  /** sent: no response yet. accepted: accepted but not reported back yet, because a cell is running. */
  phase: "idle" | "sent" | "accepted";
  /** Why the last value was refused, and the JSON of the kernel's value; null: it was not refused. */
  refusal: { text: string; kept: string } | null;
}

/** What a setting needs to know of the session. */
export interface Source {
  /** Returns the last value reported by the kernel; null if the widget does not exist. */
  told(): { value: unknown } | null;
  /** Reports whether no cell is running or queued. */
  idle(): boolean;
  /** Calls f whenever told or idle may return something else. The returned function ends that. */
  subscribe(f: () => void): () => void;
}

export interface How {
  send: (value: unknown) => Promise<void>;
  /** Minimum milliseconds between two sends; of the values in between only the last is sent. Default 0. */
  pace?: number;
  /** The kernel reports something else than the value, such as the number of presses of a button. */
  press?: boolean;
}

/** The value of one widget on its way to the kernel. */
export interface Setting {
  view(): View;
  subscribe(f: () => void): () => void;
  set(value: unknown, how: How): void;
  /** Sends a value that is waiting for the minimum interval at once. */
  flush(): void;
}

const quiet: View = { wanted: null, phase: "idle", refusal: null };

/**
 * How long an accepted value is shown, in milliseconds, while nothing is running and the kernel
 * does not report it.
 */
const grace = 2000;

/**
 * Makes a setting.
 *
 *     idle --set--> sent --answer--> accepted --told--> idle
 *
 * Only the answer to what was sent last counts, and of what the kernel tells
 * meanwhile the echoes of what was sent before are passed over. A refusal puts the
 * kernel's word back.
 */
export function createSetting(source: Source): Setting {
  let view = quiet;
  let how: How | null = null;
  let value: unknown; // the last requested value
  let newest = 0; // number of the last send
  let sentAt = Number.NEGATIVE_INFINITY;
  let unsent = false;
  let echoes: string[] = []; // values that were sent and not reported yet, oldest first
  let told = ""; // JSON of the last value reported by the kernel
  let burst = 0; // number of sends since idle
  let timer: ReturnType<typeof setTimeout> | undefined;
  let patience: ReturnType<typeof setTimeout> | undefined;
  let leave: (() => void) | null = null;
  const listeners = new Set<() => void>();

  const show = (next: View) => {
    view = next;
    for (const f of [...listeners]) f();
  };

  const settle = (error: string | null) => {
    clearTimeout(patience);
    patience = undefined;
    leave?.();
    leave = null;
    echoes = [];
    burst = 0;
    show(error === null ? quiet : { ...quiet, refusal: { text: error, kept: tell() ?? "" } });
  };

  const transmit = () => {
    clearTimeout(timer);
    timer = undefined;
    if (!unsent || how === null) return;
    unsent = false;
    const mine = ++newest;
    sentAt = performance.now();
    burst += 1;
    echoes.push(jsonText(value));
    show({ ...view, phase: "sent" });
    answerOf(how.send, value).then((error) => {
      if (mine !== newest || unsent) return;
      if (error !== null) settle(error);
      else accepted();
    });
  };

  const accepted = () => {
    if (how?.press) return settle(null);
    show({ ...view, phase: "accepted" });
    look();
    const same = view.wanted !== null && tell() === jsonText(value);
    if (same && (burst === 1 || echoes.length === 0)) settle(null);
  };

  /** Returns the kernel's current value as JSON. */
  const tell = (): string | null => {
    const word = source.told();
    return word === null ? null : jsonText(word.value);
  };

  const look = () => {
    const now = tell();
    if (now !== null && now !== told) {
      told = now;
      const echo = echoes.indexOf(now);
      const last = echo === echoes.length - 1;
      echoes = echo < 0 ? echoes : echoes.slice(echo + 1);
      if (view.phase === "accepted" && !unsent && (echo < 0 || last)) return settle(null);
    }
    wait();
  };

  /**
   * Gives up waiting for a value that will not be reported any more, such as one of a widget that
   * was created anew.
   */
  const wait = () => {
    if (view.phase !== "accepted" || unsent || !source.idle()) {
      clearTimeout(patience);
      patience = undefined;
      return;
    }
    patience ??= setTimeout(() => settle(null), grace);
  };

  return {
    view: () => view,
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    set(wanted, next) {
      value = wanted;
      how = next;
      unsent = true;
      if (leave === null) {
        told = tell() ?? "";
        leave = source.subscribe(look);
      }
      show({ wanted: next.press ? null : { value }, phase: view.phase, refusal: null });
      const rest = (next.pace ?? 0) - (performance.now() - sentAt);
      if (rest <= 0) transmit();
      else timer ??= setTimeout(transmit, rest);
    },
    flush: transmit,
  };
}

/** Resolves to null if the value was accepted, else to the reason why not. Never rejects. */
async function answerOf(send: How["send"], value: unknown): Promise<string | null> {
  try {
    await send(value);
    return null;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text || "The value was refused.";
  }
}
