import { ApiError } from "../api/client";
import type { Entry } from "../protocol/messages";
import { jsonOf } from "../store/read";
import { initial } from "../store/reducer";
import type { Store } from "../store/store";
import { getSession, historyOf } from "./history";
import type { Inbox } from "./inbox";

/**
 * Brings what was said before this page came, or while it was away, in front of
 * what is said now: frames of the agent wait until it is there.
 */
export class Conversation {
  private waiting: Entry[] | null = null;
  private trace = "";
  private loading = new AbortController();

  /** failed is told why what was said before cannot be shown. */
  constructor(
    private readonly session: string,
    private readonly store: Store,
    private readonly inbox: Inbox,
    private readonly failed: (why: string) => void,
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
    const { signal } = this.loading;
    this.waiting ??= [];
    const known = new Set<string>();
    try {
      const { trace = "" } = await getSession(this.session, signal);
      this.inbox.drain();
      if (all || trace !== this.trace) this.forget();
      this.inbox.drain();
      this.trace = trace;
      const from = (this.store.get().agent.seq ?? 0) + 1;
      for await (const entries of historyOf(this.session, from, signal)) {
        for (const entry of entries) {
          this.inbox.add({ entry });
          known.add(jsonOf(entry.msg));
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const nothingYet = error instanceof ApiError && error.status === 404;
      if (!nothingYet) this.failed(error instanceof Error ? error.message : String(error));
    }
    this.release(known);
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
