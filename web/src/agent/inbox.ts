import type { Entry, NotebookStateMessage } from "../protocol/messages";
import type { Store } from "../store/store";

/** What has come and is to be taken in, in order: an entry, another notebook, or something to be done between them. */
export type Piece = { entry: Entry } | { state: NotebookStateMessage } | { act: () => void };

/** How long one turn may take, in milliseconds, and how many pieces, with how much text, are taken in together. */
const turnMs = 8;
const together = 500;
const textTogether = 256 << 10;

/** How much may wait, in UTF-16 units of text and in pieces; more is taken in at once. */
const mostText = 8 << 20;
const mostPieces = 20_000;

/** When a turn is taken at the latest, in milliseconds: a page that is not drawn gets no animation frames. */
const latest = 200;

/**
 * Takes what comes into the store, once per animation frame and a bounded time
 * each, so that typing is not held up. What comes is read at once all the same,
 * and text of one cell and stream is put together before it is taken in.
 */
export class Inbox {
  private waiting: Piece[] = [];
  private text = 0;
  /** The newest seq of what waits or was taken in, of the notebook that there is. */
  private newest = 0;
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly store: Store) {}

  add(piece: Piece): void {
    if ("entry" in piece) this.text += textIn(piece.entry);
    if ("state" in piece) this.newest = 0;
    if (!("entry" in piece) || !this.merge(piece.entry)) this.waiting.push(piece);
    if ("entry" in piece) this.newest = Math.max(this.newest, piece.entry.seq);
    if (this.text > mostText || this.waiting.length > mostPieces) this.drain();
    else this.schedule();
  }

  /** Takes in all that waits, now. */
  drain(): void {
    while (this.waiting.length > 0) this.take();
    this.unschedule();
  }

  /** Forgets what waits. */
  clear(): void {
    this.waiting = [];
    this.text = 0;
    this.unschedule();
  }

  /** Puts text behind that of the same cell and stream, where that came last. */
  private merge(entry: Entry): boolean {
    const place = this.waiting.length - 1;
    const last = this.waiting[place];
    if (last === undefined || !("entry" in last) || !continues(last.entry, entry)) return false;
    const inOrder = entry.seq === 0 ? last.entry.seq === 0 : last.entry.seq === this.newest && entry.seq > this.newest;
    if (!inOrder || textIn(last.entry) > textTogether) return false;
    const data = `${last.entry.msg.data}${entry.msg.data}`;
    this.waiting[place] = { entry: { ...entry, msg: { ...entry.msg, data } } };
    return true;
  }

  private readonly turn = () => {
    this.unschedule();
    const end = performance.now() + turnMs;
    while (this.waiting.length > 0 && performance.now() < end) this.take();
    if (this.waiting.length > 0) this.schedule();
  };

  /** Takes in the pieces at the front that go together. */
  private take(): void {
    const entries: Entry[] = [];
    let text = 0;
    for (const piece of this.waiting.slice(0, together)) {
      if (!("entry" in piece) || text > textTogether) break;
      text += textIn(piece.entry);
      entries.push(piece.entry);
    }
    if (entries.length > 0) {
      this.waiting.splice(0, entries.length);
      for (const entry of entries) this.text -= textIn(entry);
      this.store.apply(entries);
      return;
    }
    const piece = this.waiting.shift();
    if (piece !== undefined && "state" in piece) this.store.restore(piece.state);
    if (piece !== undefined && "act" in piece) piece.act();
  }

  private schedule(): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(this.turn, latest);
    this.frame = requestAnimationFrame(this.turn);
  }

  private unschedule(): void {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = undefined;
  }
}

function textIn({ msg }: Entry): number {
  return typeof msg.data === "string" ? msg.data.length : 0;
}

function continues(last: Entry, next: Entry): boolean {
  const [a, b] = [last.msg, next.msg];
  return (
    a.type === "kernel_stdio" &&
    b.type === "kernel_stdio" &&
    a.active_cell === b.active_cell &&
    a.stream === b.stream &&
    typeof a.data === "string" &&
    typeof b.data === "string"
  );
}
