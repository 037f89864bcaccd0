import { jsonText } from "./text";

/** What a control shows of a value that is being set. */
export interface View {
  /** What was asked for and is not yet the kernel's word; null: the kernel's word is shown. */
  wanted: { value: unknown } | null;
  /** sent: not answered; accepted: the kernel has not told of it, as a cell still runs. */
  phase: "idle" | "sent" | "accepted";
  /** Why the last value was refused, and the JSON of the value that is kept; null: it was not. */
  refusal: { text: string; kept: string } | null;
}

/** What a setting must know of the widget's session. */
export interface Source {
  /** The value as the kernel told it last; null: there is no such widget. */
  told(): { value: unknown } | null;
  /** Nothing runs or waits to. */
  idle(): boolean;
  /** Calls f whenever one of them may have changed. */
  subscribe(f: () => void): () => void;
}

export interface How {
  send: (value: unknown) => Promise<void>;
  /** Milliseconds between two sends; what comes sooner waits, and the last wins. Default 0. */
  pace?: number;
  /** The kernel's word is not the value itself: a button tells how often it was pressed. */
  press?: boolean;
}

/** The value of one widget on its way to the kernel. */
export interface Setting {
  view(): View;
  subscribe(f: () => void): () => void;
  set(value: unknown, how: How): void;
  /** Sends at once what waits for its pace. */
  flush(): void;
}

const quiet: View = { wanted: null, phase: "idle", refusal: null };

/** Milliseconds that an accepted value is shown while nothing runs and the kernel does not tell of it. */
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
  let value: unknown; // asked for last
  let newest = 0; // number of the last send
  let sentAt = Number.NEGATIVE_INFINITY;
  let unsent = false;
  let echoes: string[] = []; // sent and not told of, oldest first
  let told = ""; // JSON of what the kernel said last
  let burst = 0; // sends since idle
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

  /** What the kernel says now, as JSON. */
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

  /** Gives up on a value that nothing will tell of any more, such as one of a widget made anew. */
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

/** Resolves to null when the value was accepted, else to why not. Never rejects. */
async function answerOf(send: How["send"], value: unknown): Promise<string | null> {
  try {
    await send(value);
    return null;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return text || "The value was refused.";
  }
}
