import type { Output } from "../protocol/messages";
import type { OutputBuffer, OutputPiece, StreamName } from "./outputBuffer";
import type { Execution } from "./state";
import { type StoredOutput, toNbformat } from "./storedOutput";
import { omissionNote } from "./utf8";

/** One output for display: adjacent text of one stream, joined, or another output. */
export interface RenderedOutput {
  /** null for text. */
  stored: StoredOutput | null;
  stream: StreamName;
  head: OutputPiece[];
  /** Bytes left out between head and tail. */
  missingBytes: number;
  tail: OutputPiece[];
  /** The output as nbformat has it. */
  output: Output | null;
}

/** The outputs of a buffer as they were rendered last, so that unchanged ones stay the same objects. */
export interface RenderedOutputs {
  list: readonly RenderedOutput[];
  outputs: readonly Output[];
}

/** The rendered outputs of an empty buffer. */
export const noRenderedOutputs: RenderedOutputs = { list: [], outputs: [] };

/** Renders a buffer. Outputs that have not changed since `last` are the same objects. */
export function renderOutputs(buffer: OutputBuffer, last: RenderedOutputs = noRenderedOutputs): RenderedOutputs {
  const list = joinPieces(buffer);
  let isSameList = list.length === last.list.length;
  const outputs = list.map((rendered, i) => {
    const before = last.list[i];
    const kept = before !== undefined && isSameRenderedOutput(before, rendered) ? before.output : null;
    isSameList &&= kept !== null;
    rendered.output = kept ?? nbformatOf(rendered);
    return rendered.output;
  });
  return { list, outputs: isSameList ? last.outputs : outputs };
}

function joinPieces(buffer: OutputBuffer): RenderedOutput[] {
  const list: RenderedOutput[] = [];
  for (const piece of buffer.head) addPiece(list, piece, piece.missingBytes);
  for (const piece of buffer.middle) addPiece(list, piece, piece.missingBytes);
  buffer.tail.forEach((piece, i) => {
    addPiece(list, piece, piece.missingBytes + (i === 0 ? buffer.gap : 0));
  });
  if (buffer.tail.length === 0) addMissingBytes(list, buffer.gap, "stdout");
  return list;
}

function addPiece(list: RenderedOutput[], piece: OutputPiece, missingBytes: number): void {
  addMissingBytes(list, missingBytes, piece.output === null ? piece.stream : "stdout");
  const last = list.at(-1);
  if (piece.output !== null || last === undefined || last.stored !== null || last.stream !== piece.stream) {
    const head = piece.output === null ? [piece] : [];
    list.push({ stored: piece.output, stream: piece.stream, head, missingBytes: 0, tail: [], output: null });
  } else (last.missingBytes > 0 ? last.tail : last.head).push(piece);
}

/** Notes that bytes are missing: in the text before them, or else as a separate text. */
function addMissingBytes(list: RenderedOutput[], bytes: number, stream: StreamName): void {
  if (bytes === 0) return;
  const last = list.at(-1);
  if (last !== undefined && last.stored === null) last.missingBytes += bytes;
  else list.push({ stored: null, stream, head: [], missingBytes: bytes, tail: [], output: null });
}

function isSameRenderedOutput(a: RenderedOutput, b: RenderedOutput): boolean {
  if (a.stored !== null || b.stored !== null) return a.stored === b.stored;
  return (
    a.stream === b.stream &&
    a.missingBytes === b.missingBytes &&
    areSamePieces(a.head, b.head) &&
    areSamePieces(a.tail, b.tail)
  );
}

function areSamePieces(a: readonly OutputPiece[], b: readonly OutputPiece[]): boolean {
  return a.length === b.length && a.every((piece, i) => piece === b[i]);
}

function nbformatOf(rendered: RenderedOutput): Output {
  if (rendered.stored !== null) return toNbformat(rendered.stored);
  const text = textOfPieces(rendered.head) + omissionNote(rendered.missingBytes) + textOfPieces(rendered.tail);
  return { output_type: "stream", name: rendered.stream, text };
}

/** Returns the text of some pieces, without what was dropped. */
export function textOfPieces(pieces: readonly OutputPiece[]): string {
  return pieces.map((piece) => (piece.from === 0 ? piece.text : piece.text.slice(piece.from))).join("");
}

/** Returns the outputs of an execution as the reducer rendered them last. */
export function renderedOutputsOf(execution: Execution): readonly RenderedOutput[] {
  return execution.internals?.rendered.list ?? [];
}
