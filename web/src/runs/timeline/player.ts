import { readTracePage, type TracePage } from "../../api/readTrace";
import { onNextFrame } from "../../api/watchTrace";
import type { Entry } from "../../protocol/messages";

const perPage = 500;
/** How long nothing happens at most, in milliseconds of the reader's time. */
const longestSilenceMs = 2000;
/** Fewer entries than this in hand: the next page is asked for. */
const lowWater = 200;

interface Played {
  /** Entries whose time has come, in order. */
  onEntries: (entries: readonly Entry[]) => void;
  /** There are no more. */
  onEnd: () => void;
  onProblem: (text: string) => void;
}

/** Plays the entries of a trace behind one of them, at a multiple of the time they took, until it is stopped. */
export class Player {
  #waiting: Entry[] = [];
  #next: number | null;
  #asking = false;
  #gone = new AbortController();
  #cancel: () => void = () => undefined;
  /** When the first of what waits is due, as of performance.now(). */
  #due: number;
  /** The time of the entry that was played last, in milliseconds of the trace. */
  #at: number;

  constructor(
    readonly base: string,
    from: { seq: number; ms: number },
    readonly speed: number,
    readonly played: Played,
  ) {
    this.#next = from.seq + 1;
    this.#at = from.ms;
    this.#due = performance.now();
    this.#tick();
  }

  stop(): void {
    this.#gone.abort();
    this.#cancel();
  }

  #tick(): void {
    if (this.#gone.signal.aborted) return;
    const entries = this.#takeDue(performance.now());
    if (entries.length > 0) this.played.onEntries(entries);
    if (this.#gone.signal.aborted) return; // whoever was told has stopped it
    if (this.#waiting.length < lowWater) void this.#ask();
    const over = this.#waiting.length === 0 && this.#next === null && !this.#asking;
    if (over) this.played.onEnd();
    else this.#cancel = onNextFrame(() => this.#tick());
  }

  /** Takes off what waits as far as its time has come. */
  #takeDue(now: number): Entry[] {
    let count = 0;
    for (const entry of this.#waiting) {
      const ms = (entry.t_ns ?? 0) / 1e6;
      const due = this.#due + Math.min(Math.max(0, ms - this.#at) / this.speed, longestSilenceMs);
      if (due > now) break;
      this.#due = due;
      this.#at = ms;
      count++;
    }
    if (count === 0 && this.#waiting.length === 0) this.#due = now; // it waits for a page, not for the trace
    return this.#waiting.splice(0, count);
  }

  async #ask(): Promise<void> {
    if (this.#asking || this.#next === null) return;
    this.#asking = true;
    try {
      const page: TracePage = await readTracePage(this.base, { from: this.#next, limit: perPage }, this.#gone.signal);
      this.#waiting.push(...page.entries);
      this.#next = page.next;
    } catch (error) {
      if (this.#gone.signal.aborted) return;
      this.stop();
      this.played.onProblem(error instanceof Error ? error.message : String(error));
    } finally {
      this.#asking = false;
    }
  }
}
