import type { Entry, MessageOf, NotebookStateMessage } from "../protocol/messages";
import type { Store } from "../store/store";

/**
 * An item that waits in the inbox: an entry, a complete notebook that replaces the current one, or
 * a callback to run in between.
 */
export type InboxItem = { entry: Entry } | { state: NotebookStateMessage } | { run: () => void };

/** How many milliseconds applying messages may take in one animation frame. */
const maxApplyMsPerFrame = 8;
const maxBatchItems = 500; // How many items are applied together at most.
const maxBatchText = 256 << 10; // Characters of text that are applied, or joined, together.

/**
 * Maximum that may wait, in UTF-16 units of text and in items. If more waits, all of it is applied
 * at once.
 */
const maxWaitingText = 8 << 20;
const maxWaitingItems = 20_000;

/**
 * Longest delay in milliseconds before waiting messages are applied: a hidden page gets no
 * animation frames.
 */
const maxApplyDelayMs = 200;

/**
 * Applies incoming messages to the store, once per animation frame and for a limited time, so that
 * typing stays responsive. Consecutive outputs of the same cell and stream are joined first.
 */
export class Inbox {
  private waiting: InboxItem[] = [];
  private textLength = 0;
  /** The newest seq that waits or was applied since the notebook was replaced. */
  private newest = 0;
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly store: Store) {}

  add(piece: InboxItem): void {
    if ("entry" in piece) this.textLength += stdioLengthOf(piece.entry);
    if ("state" in piece) this.newest = 0;
    if (!("entry" in piece) || !this.joinText(piece.entry)) this.waiting.push(piece);
    if ("entry" in piece) this.newest = Math.max(this.newest, piece.entry.seq);
    if (this.textLength > maxWaitingText || this.waiting.length > maxWaitingItems) this.drain();
    else this.schedule();
  }

  /** Applies all that waits, now. */
  drain(): void {
    while (this.waiting.length > 0) this.applyNext();
    this.unschedule();
  }

  /** Discards all that waits. */
  clear(): void {
    this.waiting = [];
    this.textLength = 0;
    this.unschedule();
  }

  /** Appends text to the last waiting item if that is text of the same cell and stream. */
  private joinText(entry: Entry): boolean {
    const last = this.waiting.at(-1);
    if (last === undefined || !("entry" in last)) return false;
    const [before, next] = [stdioMessageOf(last.entry), stdioMessageOf(entry)];
    if (before === null || before.active_cell !== next?.active_cell || before.stream !== next.stream) return false;
    const { seq } = last.entry;
    const isInOrder = entry.seq === 0 ? seq === 0 : seq === this.newest && entry.seq > this.newest;
    if (!isInOrder || before.data.length > maxBatchText) return false;
    this.waiting[this.waiting.length - 1] = { entry: { ...entry, msg: { ...next, data: before.data + next.data } } };
    return true;
  }

  private readonly takeTurn = () => {
    this.unschedule();
    const end = performance.now() + maxApplyMsPerFrame;
    while (this.waiting.length > 0 && performance.now() < end) this.applyNext();
    if (this.waiting.length > 0) this.schedule();
  };

  /** Applies the first items that can be applied together. */
  private applyNext(): void {
    const entries: Entry[] = [];
    let text = 0;
    for (const piece of this.waiting.slice(0, maxBatchItems)) {
      if (!("entry" in piece) || text > maxBatchText) break;
      text += stdioLengthOf(piece.entry);
      entries.push(piece.entry);
    }
    if (entries.length > 0) {
      this.waiting.splice(0, entries.length);
      for (const entry of entries) this.textLength -= stdioLengthOf(entry);
      this.store.apply(entries);
      return;
    }
    const piece = this.waiting.shift();
    if (piece !== undefined && "state" in piece) this.store.restore(piece.state);
    if (piece !== undefined && "run" in piece) piece.run();
  }

  private schedule(): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(this.takeTurn, maxApplyDelayMs);
    this.frame = requestAnimationFrame(this.takeTurn);
  }

  private unschedule(): void {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = undefined;
  }
}

function stdioMessageOf({ msg }: Entry): MessageOf<"kernel_stdio"> | null {
  return msg?.type === "kernel_stdio" ? msg : null;
}

function stdioLengthOf(entry: Entry): number {
  return stdioMessageOf(entry)?.data.length ?? 0;
}
