import { readTracePage, type TracePage } from "../../api/readTrace";
import { onNextAnimationFrame } from "../../browser/animationFrame";
import type { Entry } from "../../protocol/messages";

const entriesPerPage = 500;
/**
 * The longest pause between two entries during playback, in milliseconds; longer pauses are
 * shortened to it.
 */
const maxPlayedPauseMs = 2000;
/** If fewer loaded entries than this are left to play, the next page is requested. */
const minBufferedEntries = 200;

interface PlayerEvents {
  /** Receives entries when their time has come, in order. */
  onEntries: (entries: readonly Entry[]) => void;
  /** Called after the last entry. */
  onEnd: () => void;
  onProblem: (text: string) => void;
}

/**
 * Plays the entries of a trace after a given one, at a multiple of their original speed, until it
 * is stopped.
 */
export class Player {
  #waiting: Entry[] = [];
  #next: number | null;
  #asking = false;
  #gone = new AbortController();
  #cancel: () => void = () => undefined;
  /** When the first waiting entry is due, on the clock of performance.now(). */
  #due: number;
  /** Time of the last played entry, in milliseconds since the trace began. */
  #at: number;

  constructor(
    readonly base: string,
    from: { seq: number; ms: number },
    readonly speed: number,
    readonly played: PlayerEvents,
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
    if (this.#gone.signal.aborted) return; // a callback has stopped it
    if (this.#waiting.length < minBufferedEntries) void this.#ask();
    const over = this.#waiting.length === 0 && this.#next === null && !this.#asking;
    if (over) this.played.onEnd();
    else this.#cancel = onNextAnimationFrame(() => this.#tick());
  }

  /** Removes and returns the waiting entries that are due. */
  #takeDue(now: number): Entry[] {
    let count = 0;
    for (const entry of this.#waiting) {
      const ms = (entry.t_ns ?? 0) / 1e6;
      const due = this.#due + Math.min(Math.max(0, ms - this.#at) / this.speed, maxPlayedPauseMs);
      if (due > now) break;
      this.#due = due;
      this.#at = ms;
      count++;
    }
    if (count === 0 && this.#waiting.length === 0) this.#due = now; // the time spent waiting for a page does not count
    return this.#waiting.splice(0, count);
  }

  async #ask(): Promise<void> {
    if (this.#asking || this.#next === null) return;
    this.#asking = true;
    try {
      const page: TracePage = await readTracePage(
        this.base,
        { from: this.#next, limit: entriesPerPage },
        this.#gone.signal,
      );
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
