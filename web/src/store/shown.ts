import type { Output } from "../protocol/messages";
import { leftOut } from "./excerpt";
import { outputOf, type Rich } from "./rich";
import type { Run } from "./state";
import type { Piece, Stream, Tape } from "./tape";

/** One output as it is shown: text of a stream, merged with all of the same stream right before and after it, or another. */
export interface Shown {
  rich: Rich | null;
  stream: Stream;
  head: Piece[];
  /** Bytes between head and tail. */
  missing: number;
  tail: Piece[];
  output: Output | null;
}

/** What was shown of a tape, so that what has not changed since stays the same object. */
export interface Showing {
  list: readonly Shown[];
  outputs: readonly Output[];
}

export const nothingShown: Showing = { list: [], outputs: [] };

/** The outputs of a tape in order. Those that were in the last showing and have not changed are the same objects. */
export function show(tape: Tape, last: Showing = nothingShown): Showing {
  const list = listOf(tape);
  let same = list.length === last.list.length;
  const outputs = list.map((shown, i) => {
    const before = last.list[i];
    const kept = before !== undefined && isSame(before, shown) ? before.output : null;
    same &&= kept !== null;
    shown.output = kept ?? make(shown);
    return shown.output;
  });
  return { list, outputs: same ? last.outputs : outputs };
}

function listOf(tape: Tape): Shown[] {
  const list: Shown[] = [];
  for (const piece of tape.head) add(list, piece, piece.missing);
  for (const piece of tape.middle) add(list, piece, piece.missing);
  tape.tail.forEach((piece, i) => {
    add(list, piece, piece.missing + (i === 0 ? tape.gap : 0));
  });
  if (tape.tail.length === 0) skip(list, tape.gap, "stdout");
  return list;
}

function add(list: Shown[], piece: Piece, missing: number): void {
  skip(list, missing, piece.rich === null ? piece.stream : "stdout");
  const last = list.at(-1);
  if (piece.rich !== null || last === undefined || last.rich !== null || last.stream !== piece.stream) {
    const head = piece.rich === null ? [piece] : [];
    list.push({ rich: piece.rich, stream: piece.stream, head, missing: 0, tail: [], output: null });
  } else (last.missing > 0 ? last.tail : last.head).push(piece);
}

/** Notes that so many bytes are missing: in the text before them, else as a text of their own. */
function skip(list: Shown[], bytes: number, stream: Stream): void {
  if (bytes === 0) return;
  const last = list.at(-1);
  if (last !== undefined && last.rich === null) last.missing += bytes;
  else list.push({ rich: null, stream, head: [], missing: bytes, tail: [], output: null });
}

function isSame(a: Shown, b: Shown): boolean {
  if (a.rich !== null || b.rich !== null) return a.rich === b.rich;
  return a.stream === b.stream && a.missing === b.missing && areSame(a.head, b.head) && areSame(a.tail, b.tail);
}

function areSame(a: readonly Piece[], b: readonly Piece[]): boolean {
  return a.length === b.length && a.every((piece, i) => piece === b[i]);
}

function make(shown: Shown): Output {
  if (shown.rich !== null) return outputOf(shown.rich);
  const text = textOf(shown.head) + leftOut(shown.missing) + textOf(shown.tail);
  return { output_type: "stream", name: shown.stream, text };
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (piece.from === 0 ? piece.text : piece.text.slice(piece.from))).join("");
}

/** What a run shows, as the reducer made it. */
export function shownOf(run: Run): readonly Shown[] {
  return run.memory?.shown.list ?? [];
}
