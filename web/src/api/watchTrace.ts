import type { Entry } from "../protocol/messages";
import { getToken } from "./client";
import { followSocket } from "./followSocket";
import { isEntry } from "./readTrace";
import { socketURL } from "./socketURL";

/** What is to be done with what a watcher hears. */
export interface Heard {
  /** Entries, in order, each once. */
  onEntries: (entries: readonly Entry[]) => void;
  /** There is no more to come. */
  onEnd: () => void;
  /** It was cut off, and tries again; null: it is connected. */
  onLost: (why: string | null) => void;
}

/** Follows a trace from the entry `from` on, over broken connections, until it ends or what is returned is called. */
export function watchTrace(path: string, from: number, heard: Heard): () => void {
  let next = from;
  const batch = new Batch(heard.onEntries);
  const stop = followSocket({
    url: () => socketURL(path) + parameters(next),
    onOpen: () => heard.onLost(null),
    onMessage(data) {
      const entry = parsed(data);
      if (entry === null || entry.seq < next) return;
      next = entry.seq + 1;
      batch.add(entry);
    },
    onClose(code, reason) {
      batch.flush();
      const over = code === 1000 || code === 1001;
      if (over) heard.onEnd();
      else heard.onLost(`${reason === "" ? "the connection to the server was lost" : reason}; it is tried again`);
      return over;
    },
  });
  return () => {
    batch.drop();
    stop();
  };
}

function parameters(from: number): string {
  const token = getToken();
  return `&from=${from}${token === null ? "" : `&token=${encodeURIComponent(token)}`}`;
}

/** The entry of a line; null for the header, and for what is none. */
function parsed(data: unknown): Entry | null {
  try {
    const value: unknown = JSON.parse(String(data));
    return isEntry(value) ? value : null;
  } catch {
    return null;
  }
}

/** Gathers what comes between two frames of the screen. */
class Batch {
  #entries: Entry[] = [];
  #cancel: (() => void) | null = null;

  constructor(readonly take: (entries: readonly Entry[]) => void) {}

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#cancel ??= onFrame(() => this.flush());
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

/** Calls f before the page is drawn next, or soon where it is not seen; what it returns takes that back. */
export function onFrame(f: () => void): () => void {
  if (document.visibilityState === "hidden") {
    const timer = setTimeout(f, 250);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(f);
  return () => cancelAnimationFrame(frame);
}
