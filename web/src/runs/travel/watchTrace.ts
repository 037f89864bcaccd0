import { getToken } from "../../api/client";
import type { Entry } from "../../protocol/messages";
import { isEntry } from "./readTrace";

/** What is to be done with what a watcher hears. */
export interface Heard {
  /** Entries, in order, each once. */
  onEntries: (entries: readonly Entry[]) => void;
  /** There is no more to come. */
  onEnd: () => void;
  /** It was cut off, and tries again; null: it is connected. */
  onLost: (why: string | null) => void;
}

const firstRetryMs = 250;
const lastRetryMs = 10_000;
/** A connection that is not there by then is tried again. */
const patienceMs = 10_000;

/** Where the sockets of this page go: to its own server, or when developing to the one that is named. */
export function socketURL(path: string): string {
  return new URL(path, process.env.ASSAY_URL || window.location.href).href.replace(/^http/, "ws");
}

/** Follows a trace from the entry `from` on, over broken connections, until it ends or what is returned is called. */
export function watchTrace(path: string, from: number, heard: Heard): () => void {
  let next = from;
  let wait = firstRetryMs;
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const batch = new Batch(heard.onEntries);
  const connect = () => {
    const connecting = new WebSocket(socketURL(path) + parameters(next));
    socket = connecting;
    timer = setTimeout(() => connecting.close(), patienceMs);
    socket.onopen = () => {
      clearTimeout(timer);
      heard.onLost(null);
    };
    socket.onmessage = ({ data }) => {
      const entry = parsed(data);
      if (entry === null || entry.seq < next) return;
      wait = firstRetryMs;
      next = entry.seq + 1;
      batch.add(entry);
    };
    socket.onclose = ({ code, reason }) => {
      clearTimeout(timer);
      batch.flush();
      if (code === 1000 || code === 1001) {
        heard.onEnd();
        return;
      }
      heard.onLost(`${reason === "" ? "the connection to the server was lost" : reason}; it is tried again`);
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, lastRetryMs);
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    batch.drop();
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
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
