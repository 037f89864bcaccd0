import { referenceToOutput, type StoredOutput, storedBytes, withContentOf } from "./storedOutput";
import { byteLength, copyOfText, firstPositionAfter, lastPositionWithin, type TextPosition, wellFormed } from "./utf8";

/** Bytes of text in one piece at most. Old text is dropped by whole pieces, so it need not be copied. */
const maxPieceBytes = 32 << 10;

/** Bytes that a piece counts besides its content, so that many tiny pieces are limited too. */
const textPieceOverhead = 128;
const outputPieceOverhead = 640;

/** How many references to outputs a buffer keeps between its two ends. */
const maxOutputReferences = 256;

/** The name of an output stream. */
export type StreamName = "stdout" | "stderr";

/** A piece of an OutputBuffer: text of one stream, or an output that is not text. Immutable. */
export interface OutputPiece {
  /** Bytes left out before it. */
  missingBytes: number;
  stream: StreamName;
  text: string;
  /** Text before this index was dropped. */
  from: number;
  /** Bytes of the text, including what was dropped. */
  fullBytes: number;
  /** Bytes of the text without what was dropped. */
  bytes: number;
  /** null for text. */
  output: StoredOutput | null;
}

/** Text that is being written to a buffer. */
interface UnwrittenText {
  text: string;
  /** Index of the first character that is not written yet. */
  at: number;
  /** Bytes that are not written yet. */
  bytes: number;
}

/** Returns the bytes that a piece counts in its buffer, including its overhead. */
function costOfPiece(piece: OutputPiece): number {
  return piece.output === null ? textPieceOverhead + piece.bytes : outputPieceOverhead + storedBytes(piece.output);
}

function pieceOfOutput(output: StoredOutput, missingBytes = 0): OutputPiece {
  return { missingBytes, stream: "stdout", text: "", from: 0, fullBytes: 0, bytes: 0, output };
}

/**
 * The outputs of an execution in order, limited in size: the first half and the last half of
 * `limit` bytes. Between them text is only counted, and other outputs become references into
 * the trace.
 *
 *     head (sealed once something did not fit) | middle (references) | gap (bytes) | tail
 *
 * The content depends on what was written, not on how the text was split into messages. It is
 * changed in place: to change a buffer that was rendered, change a clone.
 */
export class OutputBuffer {
  /** Bytes of the head, and of the tail, at most. */
  readonly half: number;
  head: OutputPiece[] = [];
  middle: OutputPiece[] = [];
  tail: OutputPiece[] = [];
  /** Bytes missing before tail. */
  gap = 0;
  private readonly pieceBytes: number;
  private headRoom: number;
  private isSealed = false;
  private tailBytes = 0;

  constructor(limit: number) {
    this.half = Math.floor(limit / 2);
    this.pieceBytes = Math.min(maxPieceBytes, this.half);
    this.headRoom = this.half;
  }

  clone(): OutputBuffer {
    const copy = new OutputBuffer(2 * this.half);
    copy.head = [...this.head];
    copy.middle = [...this.middle];
    copy.tail = [...this.tail];
    copy.gap = this.gap;
    copy.headRoom = this.headRoom;
    copy.isSealed = this.isSealed;
    copy.tailBytes = this.tailBytes;
    return copy;
  }

  /** Appends text of a stream. */
  writeText(stream: StreamName, text: string): void {
    const clean = wellFormed(text);
    const unwritten = { text: clean, at: 0, bytes: byteLength(clean) };
    while (unwritten.bytes > 0 && !this.isSealed) {
      const cost = this.appendText(this.head, stream, unwritten, this.headRoom);
      this.isSealed = cost === 0;
      this.headRoom -= cost;
    }
    while (unwritten.bytes > 0) {
      this.tailBytes += this.appendText(this.tail, stream, unwritten, Number.MAX_SAFE_INTEGER);
      this.trimTail();
    }
  }

  /** Appends the beginning of a text, as much as fits into one piece and into room; returns its cost, 0 if nothing fits. */
  private appendText(pieces: OutputPiece[], stream: StreamName, unwritten: UnwrittenText, room: number): number {
    const last = pieces.at(-1);
    if (last !== undefined && last.output === null && last.stream === stream) {
      const end = endOfUnwritten(unwritten, Math.min(this.pieceBytes - last.fullBytes, room));
      if (end.bytes > 0) {
        const text = last.text + takeUnwritten(unwritten, end);
        const [fullBytes, bytes] = [last.fullBytes + end.bytes, last.bytes + end.bytes];
        pieces[pieces.length - 1] = { ...last, text, fullBytes, bytes };
        return end.bytes;
      }
    }
    const end = endOfUnwritten(unwritten, Math.min(this.pieceBytes, room - textPieceOverhead));
    if (end.bytes === 0) return 0;
    const text = takeUnwritten(unwritten, end);
    pieces.push({ missingBytes: 0, stream, text, from: 0, fullBytes: end.bytes, bytes: end.bytes, output: null });
    return end.bytes + textPieceOverhead;
  }

  /** Appends an output that is not text. */
  addOutput(output: StoredOutput): void {
    const piece = pieceOfOutput(output);
    const cost = costOfPiece(piece);
    if (!this.isSealed && cost <= this.headRoom) {
      this.head.push(piece);
      this.headRoom -= cost;
      return;
    }
    this.isSealed = true;
    this.tail.push(piece);
    this.tailBytes += cost;
    this.trimTail();
  }

  /** Drops the oldest pieces of the tail until the rest fits. */
  private trimTail(): void {
    let dropped = 0;
    while (this.tailBytes > this.half) {
      const front = this.tail[dropped];
      if (front === undefined) break;
      if (front.output !== null) {
        this.tailBytes -= costOfPiece(front);
        this.addReference(front.output);
        dropped++;
        continue;
      }
      const end = firstPositionAfter(front.text, front.from, front.bytes, this.tailBytes - this.half);
      this.tailBytes -= end.bytes;
      this.gap += end.bytes;
      if (end.bytes === front.bytes) {
        this.tailBytes -= textPieceOverhead;
        dropped++;
      } else this.tail[dropped] = { ...front, from: end.index, bytes: front.bytes - end.bytes };
    }
    if (dropped > 0) this.tail.splice(0, dropped);
  }

  /** Keeps a reference to an output in the middle; if there are too many, only its bytes are counted. */
  private addReference(output: StoredOutput): void {
    if (this.middle.length === maxOutputReferences) {
      this.gap += storedBytes(output);
      return;
    }
    this.middle.push(pieceOfOutput(referenceToOutput(output), this.gap));
    this.gap = 0;
  }

  /** Replaces the content of every output that has the display id of this one. */
  updateDisplay(content: StoredOutput): void {
    let found = false;
    this.changeOutputs((old) => {
      if (old.displayId !== content.displayId) return old;
      found = true;
      return withContentOf(old, content);
    });
    if (found) this.enforceLimits();
  }

  /** Makes the buffer fit its limits again after outputs have changed. */
  private enforceLimits(): void {
    this.headRoom = this.half;
    this.head = this.head.map((piece) => {
      const fits = piece.output === null || costOfPiece(piece) <= this.headRoom;
      const kept = fits ? piece : { ...piece, output: piece.output && referenceToOutput(piece.output) };
      this.headRoom -= costOfPiece(kept);
      return kept;
    });
    this.middle = this.middle.map((piece) => ({ ...piece, output: piece.output && referenceToOutput(piece.output) }));
    this.tailBytes = this.tail.reduce((sum, piece) => sum + costOfPiece(piece), 0);
    this.trimTail();
  }

  /** Yields the outputs that are not text, in order. */
  *outputs(): Generator<StoredOutput> {
    for (const pieces of [this.head, this.middle, this.tail]) {
      for (const piece of pieces) if (piece.output !== null) yield piece.output;
    }
  }

  /** Replaces each output that is not text by what `change` returns for it. */
  changeOutputs(change: (output: StoredOutput) => StoredOutput): void {
    for (const pieces of [this.head, this.middle, this.tail]) {
      pieces.forEach((piece, i) => {
        const output = piece.output && change(piece.output);
        if (output !== piece.output) pieces[i] = { ...piece, output };
      });
    }
  }
}

function endOfUnwritten(unwritten: UnwrittenText, maxBytes: number): TextPosition {
  return lastPositionWithin(unwritten.text, unwritten.at, unwritten.bytes, maxBytes);
}

/** Removes the text before end from what is unwritten, and returns it. */
function takeUnwritten(unwritten: UnwrittenText, end: TextPosition): string {
  const text = unwritten.text.slice(unwritten.at, end.index);
  const isAll = text.length === unwritten.text.length;
  unwritten.at = end.index;
  unwritten.bytes -= end.bytes;
  return isAll ? text : copyOfText(text);
}
