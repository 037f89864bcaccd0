import { ApiError } from "../api/client";
import { jsonOrEmpty } from "../json/values";
import type { Entry } from "../protocol/messages";
import { initialState } from "../store/reducer";
import type { Store } from "../store/store";
import type { Inbox } from "./inbox";
import { loadSessionDetail, readConversation } from "./sessionApi";
import type { UnconfirmedMessages } from "./unconfirmedMessages";

/** How many milliseconds one request for the past conversation may take. */
const conversationRequestTimeoutMs = 10_000;

export interface ConversationLoaderEvents {
  /** The past conversation could not be loaded. why is a text for the user. */
  failed(why: string): void;
  /** Loading has ended, successfully or not. */
  loaded(): void;
}

/**
 * Loads the past conversation from the trace: everything said before the page was opened or while
 * it was disconnected. Live messages of the agent wait until it is loaded, so that all are applied
 * in order.
 */
export class ConversationLoader {
  private heldBack: Entry[] | null = null;
  private trace = "";
  private loading = new AbortController();

  constructor(
    private readonly session: string,
    private readonly store: Store,
    private readonly inbox: Inbox,
    private readonly unconfirmed: UnconfirmedMessages,
    private readonly events: ConversationLoaderEvents,
  ) {}

  /** Adds a message of the agent, or one that was sent to it. */
  add(entry: Entry): void {
    if (this.heldBack === null) this.inbox.add({ entry });
    else this.heldBack.push(entry);
  }

  /** Clears the conversation: another session has begun. */
  clear(): void {
    this.trace = "";
    this.inbox.add({ run: () => this.store.update((state) => ({ ...state, agent: initialState.agent })) });
  }

  /** Loads the past conversation: all of it, or the entries since the last one that is known. */
  async load(all: boolean): Promise<void> {
    this.stop();
    const { loading } = this;
    const { signal } = loading;
    this.heldBack ??= [];
    const loaded_ = new Set<string>();
    try {
      const { trace = "" } = await withTimeout(loadSessionDetail(this.session, signal), loading);
      this.inbox.drain();
      if (all || trace !== this.trace) this.clear();
      this.inbox.drain();
      this.trace = trace;
      const seen = this.store.get().agent.seq ?? 0;
      const from = Math.min(seen, this.unconfirmed.confirmableAfter() ?? seen) + 1;
      const pages = readConversation(this.session, from, signal);
      for (
        let page = await withTimeout(pages.next(), loading);
        !page.done;
        page = await withTimeout(pages.next(), loading)
      ) {
        for (const entry of page.value) {
          if (entry.msg !== null) this.unconfirmed.receive(entry.msg, entry.seq);
          if (entry.seq <= seen) continue; // loaded only to confirm that sent messages have arrived
          this.inbox.add({ entry });
          loaded_.add(jsonOrEmpty(entry.msg));
        }
      }
    } catch (error) {
      if (loading !== this.loading) return;
      const nothingYet = error instanceof ApiError && error.status === 404;
      if (!nothingYet) this.events.failed(error instanceof Error ? error.message : String(error));
    }
    this.release(loaded_);
    this.inbox.add({ run: () => this.events.loaded() });
  }

  /** Stops loading. Messages that are held back stay so. */
  stop(): void {
    this.loading.abort();
    this.loading = new AbortController();
  }

  /**
   * Adds the messages that were held back, without those that were loaded. Messages to a holder
   * have no seq and are compared by content.
   */
  private release(known: ReadonlySet<string>): void {
    const waiting = this.heldBack ?? [];
    this.heldBack = null;
    for (const entry of waiting) {
      if (entry.seq > 0 || !known.has(jsonOrEmpty(entry.msg))) this.inbox.add({ entry });
    }
  }
}

/** Resolves to the result of a request. Rejects after a timeout, and then cancels all loading. */
async function withTimeout<T>(request: Promise<T>, controller: AbortController): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("the server does not answer"));
      controller.abort();
    }, conversationRequestTimeoutMs);
    controller.signal.addEventListener("abort", () => reject(new Error("it was given up")), { once: true });
  });
  try {
    return await Promise.race([request, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
