import { type Rich, reference, richBytes, updated } from "./rich";
import { byteLength, detached, type Place, placeBehind, placeWithin, wellFormed } from "./utf8";

/** Bytes of text that one piece holds at most. Old text goes by whole pieces, so that it need not be moved. */
const pieceSize = 32 << 10;

/** What a piece counts beside its text, and another output beside its values, in bytes: many tiny ones are bounded too. */
const pieceCost = 128;
const richCost = 640;

/** How many outputs a tape refers to between its two ends. */
const mostReferences = 256;

export type Stream = "stdout" | "stderr";

/** Text of one stream, or another output. It is not changed once made. */
export interface Piece {
  /** Bytes left out in front of it. */
  missing: number;
  stream: Stream;
  text: string;
  /** Text before this index was dropped. */
  from: number;
  /** Bytes of the text, with what was dropped, and without. */
  whole: number;
  bytes: number;
  /** null for text. */
  rich: Rich | null;
}

/** Text that is on its way into a tape. */
interface Portion {
  text: string;
  /** What is left of it: from this index, so many bytes. */
  at: number;
  bytes: number;
}

function costOf(piece: Piece): number {
  return piece.rich === null ? pieceCost + piece.bytes : richCost + richBytes(piece.rich);
}

function pieceOf(rich: Rich, missing = 0): Piece {
  return { missing, stream: "stdout", text: "", from: 0, whole: 0, bytes: 0, rich };
}

/**
 * The outputs of a run in order, as much of them as has room: the first half and
 * the last half of limit bytes. Of what lay between, text is only counted; other
 * outputs stay as references into the trace.
 *
 *     head (sealed once something did not fit) | middle | gap | tail
 *
 * What a tape holds depends on what was written, not on the portions in which text
 * came. It is changed in place: whoever has shown it must change a clone.
 */
export class Tape {
  readonly half: number;
  head: Piece[] = [];
  middle: Piece[] = [];
  tail: Piece[] = [];
  /** Bytes missing before tail. */
  gap = 0;
  private readonly piece: number;
  private room: number;
  private sealed = false;
  private size = 0;

  constructor(limit: number) {
    this.half = Math.floor(limit / 2);
    this.piece = Math.min(pieceSize, this.half);
    this.room = this.half;
  }

  clone(): Tape {
    const copy = new Tape(2 * this.half);
    copy.head = [...this.head];
    copy.middle = [...this.middle];
    copy.tail = [...this.tail];
    copy.gap = this.gap;
    copy.room = this.room;
    copy.sealed = this.sealed;
    copy.size = this.size;
    return copy;
  }

  /** Appends text of a stream. */
  write(stream: Stream, text: string): void {
    const good = wellFormed(text);
    const portion = { text: good, at: 0, bytes: byteLength(good) };
    while (portion.bytes > 0 && !this.sealed) {
      const cost = this.put(this.head, stream, portion, this.room);
      this.sealed = cost === 0;
      this.room -= cost;
    }
    while (portion.bytes > 0) {
      this.size += this.put(this.tail, stream, portion, Number.MAX_SAFE_INTEGER);
      this.trim();
    }
  }

  /** Appends the beginning of a portion, as much as one piece and room take; returns what it cost, 0: there is no room. */
  private put(pieces: Piece[], stream: Stream, portion: Portion, room: number): number {
    const last = pieces.at(-1);
    if (last !== undefined && last.rich === null && last.stream === stream) {
      const end = this.end(portion, Math.min(this.piece - last.whole, room));
      if (end.bytes > 0) {
        const text = last.text + take(portion, end);
        pieces[pieces.length - 1] = { ...last, text, whole: last.whole + end.bytes, bytes: last.bytes + end.bytes };
        return end.bytes;
      }
    }
    const end = this.end(portion, Math.min(this.piece, room - pieceCost));
    if (end.bytes === 0) return 0;
    pieces.push({
      missing: 0,
      stream,
      text: take(portion, end),
      from: 0,
      whole: end.bytes,
      bytes: end.bytes,
      rich: null,
    });
    return end.bytes + pieceCost;
  }

  private end(portion: Portion, most: number): Place {
    return placeWithin(portion.text, portion.at, portion.bytes, most);
  }

  /** Appends an output that is not text. */
  add(rich: Rich): void {
    const piece = pieceOf(rich);
    const cost = costOf(piece);
    if (!this.sealed && cost <= this.room) {
      this.head.push(piece);
      this.room -= cost;
      return;
    }
    this.sealed = true;
    this.tail.push(piece);
    this.size += cost;
    this.trim();
  }

  /** Drops the oldest of the tail until the rest has room. */
  private trim(): void {
    let gone = 0;
    while (this.size > this.half) {
      const front = this.tail[gone];
      if (front === undefined) break;
      if (front.rich !== null) {
        this.size -= costOf(front);
        this.refer(front.rich);
        gone++;
        continue;
      }
      const end = placeBehind(front.text, front.from, front.bytes, this.size - this.half);
      this.size -= end.bytes;
      this.gap += end.bytes;
      if (end.bytes === front.bytes) {
        this.size -= pieceCost;
        gone++;
      } else this.tail[gone] = { ...front, from: end.index, bytes: front.bytes - end.bytes };
    }
    if (gone > 0) this.tail.splice(0, gone);
  }

  private refer(rich: Rich): void {
    if (this.middle.length === mostReferences) {
      this.gap += richBytes(rich);
      return;
    }
    this.middle.push(pieceOf(reference(rich), this.gap));
    this.gap = 0;
  }

  /** Puts the content of rich in the place of every output that is displayed under its display id. */
  update(rich: Rich): void {
    let found = false;
    this.change((old) => {
      if (old.displayId !== rich.displayId) return old;
      found = true;
      return updated(old, rich);
    });
    if (found) this.settle();
  }

  /** Brings the tape back into its limits after outputs have changed. */
  private settle(): void {
    this.room = this.half;
    this.head = this.head.map((piece) => {
      const fits = piece.rich === null || costOf(piece) <= this.room;
      const kept = fits ? piece : { ...piece, rich: piece.rich && reference(piece.rich) };
      this.room -= costOf(kept);
      return kept;
    });
    this.middle = this.middle.map((piece) => ({ ...piece, rich: piece.rich && reference(piece.rich) }));
    this.size = this.tail.reduce((sum, piece) => sum + costOf(piece), 0);
    this.trim();
  }

  /** The outputs that are not text. */
  *rich(): Generator<Rich> {
    for (const pieces of [this.head, this.middle, this.tail]) {
      for (const piece of pieces) if (piece.rich !== null) yield piece.rich;
    }
  }

  /** Changes the outputs that are not text. */
  change(f: (rich: Rich) => Rich): void {
    for (const pieces of [this.head, this.middle, this.tail]) {
      pieces.forEach((piece, i) => {
        const rich = piece.rich && f(piece.rich);
        if (rich !== piece.rich) pieces[i] = { ...piece, rich };
      });
    }
  }
}

/** The text up to end, which is no longer left then. */
function take(portion: Portion, end: Place): string {
  const text = portion.text.slice(portion.at, end.index);
  const all = text.length === portion.text.length;
  portion.at = end.index;
  portion.bytes -= end.bytes;
  return all ? text : detached(text);
}
