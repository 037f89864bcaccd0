import { ApiError } from "../api/client";
import { jsonOf } from "../json/read";
import type { Entry } from "../protocol/messages";
import { initial } from "../store/reducer";
import type { Store } from "../store/store";
import { getSession, historyOf } from "./history";
import type { Inbox } from "./inbox";
import type { SentWords } from "./sentWords";

/** How long the server may take for each answer, in milliseconds. */
const within = 10_000;

export interface ConversationEvents {
  /** What was said before cannot be shown. */
  failed(why: string): void;
  /** All that was said is there, as far as it can be. */
  loaded(): void;
}

/**
 * Brings what was said before this page came, or while it was away, in front of
 * what is said now: frames of the agent wait until it is there.
 */
export class Conversation {
  private waiting: Entry[] | null = null;
  private trace = "";
  private loading = new AbortController();

  constructor(
    private readonly session: string,
    private readonly store: Store,
    private readonly inbox: Inbox,
    private readonly words: SentWords,
    private readonly events: ConversationEvents,
  ) {}

  /** Takes in a frame of the agent, or what was sent to it. */
  add(entry: Entry): void {
    if (this.waiting === null) this.inbox.add({ entry });
    else this.waiting.push(entry);
  }

  /** Another session has begun: what was said is no part of it. */
  forget(): void {
    this.trace = "";
    this.inbox.add({ act: () => this.store.update((state) => ({ ...state, agent: initial.agent })) });
  }

  /** Loads what was said; all of it, or what has been missed since. */
  async load(all: boolean): Promise<void> {
    this.stop();
    const { loading } = this;
    const { signal } = loading;
    this.waiting ??= [];
    const known = new Set<string>();
    try {
      const { trace = "" } = await inTime(getSession(this.session, signal), loading);
      this.inbox.drain();
      if (all || trace !== this.trace) this.forget();
      this.inbox.drain();
      this.trace = trace;
      const seen = this.store.get().agent.seq ?? 0;
      const from = Math.min(seen, this.words.since() ?? seen) + 1;
      const pages = historyOf(this.session, from, signal);
      for (let page = await inTime(pages.next(), loading); !page.done; page = await inTime(pages.next(), loading)) {
        for (const entry of page.value) {
          this.words.heard(entry.msg, entry.seq);
          if (entry.seq <= seen) continue; // it was asked for to see what has come
          this.inbox.add({ entry });
          known.add(jsonOf(entry.msg));
        }
      }
    } catch (error) {
      if (loading !== this.loading) return;
      const nothingYet = error instanceof ApiError && error.status === 404;
      if (!nothingYet) this.events.failed(error instanceof Error ? error.message : String(error));
    }
    this.release(known);
    this.inbox.add({ act: () => this.events.loaded() });
  }

  /** Lets go of what is being loaded. What waits still does. */
  stop(): void {
    this.loading.abort();
    this.loading = new AbortController();
  }

  /** Takes in what has waited, less what was loaded already: a frame for a holder has no seq to tell it by. */
  private release(known: ReadonlySet<string>): void {
    const waiting = this.waiting ?? [];
    this.waiting = null;
    for (const entry of waiting) {
      if (entry.seq > 0 || !known.has(jsonOf(entry.msg))) this.inbox.add({ entry });
    }
  }
}

/** What a question resolves to, or, when that takes too long, that it does; then all that is loaded is given up. */
async function inTime<T>(asked: Promise<T>, loading: AbortController): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("the server does not answer"));
      loading.abort();
    }, within);
    loading.signal.addEventListener("abort", () => reject(new Error("it was given up")), { once: true });
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
