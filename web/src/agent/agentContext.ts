import { isObject } from "../json/values";
import type { Output, Widget } from "../protocol/messages";
import { type RenderedOutput, renderedOutputsOf, textOfPieces } from "../store/renderedOutputs";
import { contentBytes, isBinaryMimeValue, isJSONType, jsonByteLength, valueText } from "../store/size";
import type { Cell, Execution, State } from "../store/state";
import type { StoredOutput } from "../store/storedOutput";
import { byteLength, firstPositionAfter, lastPositionWithin, omissionNote, shortenMiddle } from "../store/utf8";

/** Maximum size in bytes of one text in the answer to get_context; longer texts are cut. */
const maxTextBytes = 4 << 10;
/** Maximum size in bytes of all outputs in the answer to get_context. Each cell gets an equal share. */
const maxOutputBytes = 8 << 20;
/** Maximum size in bytes of a widget's value in the answer to get_context. */
const maxWidgetValueBytes = 4 << 10;

/** Returns the description of the notebook that the agent receives in answer to get_context. */
export function describeNotebookForAgent({ notebook }: State, language: string): Record<string, unknown> {
  const share = Math.floor(maxOutputBytes / Math.max(1, notebook.order.length));
  const cells = notebook.order.flatMap((id) => notebook.cells[id] ?? []);
  return {
    cell_count: cells.length,
    notebook_name: "notebook",
    cells: cells.map((cell, index) => ({ index, ...cellFields(cell, notebook.executions[cell.id], language, share) })),
  };
}

function cellFields(cell: Cell, execution: Execution | undefined, language: string, share: number) {
  const isCode = cell.type === "code";
  const outputs = isCode && execution !== undefined ? renderedOutputsOf(execution).map(outputFields) : [];
  return {
    cell_id: cell.id,
    tf_id: cell.id,
    cell_type: cell.type,
    source: cell.source,
    metadata: {},
    language: isCode ? language : "markdown",
    status: (isCode && execution?.status) || "idle",
    display_name: cell.title,
    rev: cell.rev,
    outputs: limitOutputsSize(share, outputs),
    widgets: isCode && execution !== undefined ? widgetFields(execution.widgets) : [],
  };
}

function outputFields(rendered: RenderedOutput): Output {
  const { stored } = rendered;
  if (stored === null) return { output_type: "stream", name: rendered.stream, text: shortenedStreamText(rendered) };
  if (stored.error !== null) {
    const { name, value, traceback } = stored.error;
    const trace = traceback.join("\n");
    const isLong = byteLength(trace) > maxTextBytes;
    return {
      output_type: "error",
      ename: shortenMiddle(name, maxTextBytes),
      evalue: shortenMiddle(value, maxTextBytes),
      traceback: isLong ? [shortenMiddle(trace, maxTextBytes)] : [...traceback],
    };
  }
  const isResult = stored.kind === "execute_result";
  return {
    output_type: isResult ? "execute_result" : "display_data",
    data: mimeDataFields(stored),
    metadata: { ...stored.metadata },
    ...(isResult ? { execution_count: stored.executionCount } : {}),
  };
}

/** Returns the text of a stream; cuts its middle if it is too long for the agent's context. */
function shortenedStreamText({ head, tail, missingBytes }: RenderedOutput): string {
  const [first, rest] = [textOfPieces(head), textOfPieces(tail)];
  const size = byteLength(first) + byteLength(rest);
  if (size <= maxTextBytes) return first + omissionNote(missingBytes) + rest;
  const end = missingBytes === 0 ? first : rest;
  const half = maxTextBytes / 2;
  const from = lastPositionWithin(first, 0, byteLength(first), half);
  const to = firstPositionAfter(end, 0, byteLength(end), byteLength(end) - half);
  const kept = from.bytes + (byteLength(end) - to.bytes);
  return first.slice(0, from.index) + omissionNote(missingBytes + size - kept) + end.slice(to.index);
}

function mimeDataFields({ data, omitted }: StoredOutput): Record<string, unknown> {
  const mimes = [...Object.keys(data), ...Object.keys(omitted)].sort();
  return Object.fromEntries(
    mimes.map((mime) => {
      if (mime in data) return [mime, mimeValueField(mime, data[mime])];
      return [mime, { mime, bytes: omitted[mime] }];
    }),
  );
}

function mimeValueField(mime: string, value: unknown): unknown {
  const size = jsonByteLength(value);
  if (isBinaryMimeValue(mime, value)) {
    const bytes = contentBytes(mime, value, size);
    return bytes > 0 ? { mime, bytes } : value;
  }
  if (size <= maxTextBytes) return value;
  return isObject(value) || isJSONType(mime) ? { mime, bytes: size } : shortenMiddle(valueText(value), maxTextBytes);
}

/**
 * Returns the widgets of a cell for the agent, sorted by key. Leaves out other fields of their
 * states and fields of the wrong type.
 */
function widgetFields(widgets: Readonly<Record<string, Widget>>) {
  return Object.keys(widgets)
    .sort()
    .map((key) => {
      const { type, label, value } = widgets[key] ?? { type: "" };
      const small = value !== undefined && jsonByteLength(value) <= maxWidgetValueBytes;
      const isLabelled = typeof label === "string" && label !== "";
      return { key, type, ...(isLabelled ? { label } : {}), ...(small ? { value } : {}) };
    });
}

/** Replaces the middle of a cell's outputs by a note if they are larger than limit bytes together. */
function limitOutputsSize(limit: number, outputs: Output[]): Output[] {
  const sizes = outputs.map(jsonByteLength);
  if (sizes.reduce((sum, size) => sum + size, 0) <= limit) return outputs;
  const first = countSizesThatFit(sizes, limit / 2);
  const last = Math.min(countSizesThatFit(sizes.toReversed(), limit / 2), outputs.length - first);
  const gone = outputs.length - first - last;
  const note: Output = { output_type: "stream", name: "stdout", text: `\n[... ${gone} outputs left out ...]\n` };
  return [...outputs.slice(0, first), note, ...outputs.slice(outputs.length - last)];
}

/** Returns how many of the sizes, from the first on, add up to at most room. */
function countSizesThatFit(sizes: readonly number[], room: number): number {
  let left = room;
  const over = sizes.findIndex((size) => {
    left -= size;
    return left < 0;
  });
  return over < 0 ? sizes.length : over;
}
