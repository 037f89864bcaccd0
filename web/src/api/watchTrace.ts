import { onNextAnimationFrame } from "../browser/animationFrame";
import { type Entry, readEntry } from "../protocol/messages";
import { getToken } from "./client";
import { openReconnectingSocket, socketURL } from "./sockets";

/** Events of a watched trace. */
export interface TraceEvents {
  /** Receives new entries, in order, each once. */
  onEntries: (entries: readonly Entry[]) => void;
  /** Called when the trace is complete. */
  onEnd: () => void;
  /** Called when the connection is lost and retried, with the reason; null: it is open again. */
  onConnectionLost: (why: string | null) => void;
}

/**
 * Watches a trace from entry `from` on and reconnects when the connection breaks. Returns a
 * function that stops it.
 */
export function watchTrace(path: string, from: number, events: TraceEvents): () => void {
  let next = from;
  const batch = new FrameBatch(events.onEntries);
  const stop = openReconnectingSocket({
    url: () => socketURL(path) + watchQueryParameters(next),
    onOpen: () => events.onConnectionLost(null),
    onMessage(data) {
      const entry = parseTraceEntry(data);
      if (entry === null || entry.seq < next) return;
      next = entry.seq + 1;
      batch.add(entry);
    },
    onClose(code, reason) {
      batch.flush();
      const over = code === 1000 || code === 1001;
      if (over) events.onEnd();
      else
        events.onConnectionLost(
          `${reason === "" ? "the connection to the server was lost" : reason}; it is tried again`,
        );
      return over;
    },
  });
  return () => {
    batch.drop();
    stop();
  };
}

function watchQueryParameters(from: number): string {
  const token = getToken();
  return `&from=${from}${token === null ? "" : `&token=${encodeURIComponent(token)}`}`;
}

/** Parses a line of a trace; null for its header and for what is not an entry. */
function parseTraceEntry(data: unknown): Entry | null {
  try {
    return readEntry(JSON.parse(String(data)));
  } catch {
    return null;
  }
}

/** Collects entries until the next animation frame. */
class FrameBatch {
  #entries: Entry[] = [];
  #cancel: (() => void) | null = null;

  constructor(readonly take: (entries: readonly Entry[]) => void) {}

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#cancel ??= onNextAnimationFrame(() => this.flush());
  }

  flush(): void {
    const entries = this.#entries;
    this.drop();
    if (entries.length > 0) this.take(entries);
  }

  drop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#entries = [];
  }
}
