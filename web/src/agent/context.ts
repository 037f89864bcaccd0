import { isObject, textOf } from "../json/read";
import type { Output, Widget } from "../protocol/messages";
import { cut, leftOut } from "../store/excerpt";
import type { Rich } from "../store/rich";
import { type Shown, shownOf } from "../store/shown";
import { isBinary, isJSONType, jsonBytes, valueBytes, valueText } from "../store/size";
import type { Cell, Run, State } from "../store/state";
import { byteLength, placeBehind, placeWithin } from "../store/utf8";

/** Limits of a context, in bytes: of a text, of all outputs, each cell having an equal share, and of a widget's value. */
const textLimit = 4 << 10;
const outputsLimit = 8 << 20;
const widgetLimit = 4 << 10;

/** The notebook as an agent sees it. */
export function contextOf({ notebook }: State, language: string): Record<string, unknown> {
  const share = Math.floor(outputsLimit / Math.max(1, notebook.order.length));
  const cells = notebook.order.flatMap((id) => notebook.cells[id] ?? []);
  return {
    cell_count: cells.length,
    notebook_name: "notebook",
    cells: cells.map((cell, index) => ({ index, ...cellInContext(cell, notebook.runs[cell.id], language, share) })),
  };
}

function cellInContext(cell: Cell, run: Run | undefined, language: string, share: number) {
  const code = cell.type === "code";
  const shown = code && run !== undefined ? shownOf(run).map(outputInContext) : [];
  return {
    cell_id: cell.id,
    tf_id: cell.id,
    cell_type: cell.type,
    source: cell.source,
    metadata: {},
    language: code ? language : "markdown",
    status: (code && run?.status) || "idle",
    display_name: cell.title,
    rev: cell.rev,
    outputs: within(share, shown),
    widgets: code && run !== undefined ? widgetsInContext(run.widgets) : [],
  };
}

function outputInContext(shown: Shown): Output {
  const { rich } = shown;
  if (rich === null) return { output_type: "stream", name: shown.stream, text: cutStream(shown) };
  if (rich.fault !== null) {
    const { name, value, traceback } = rich.fault;
    const trace = traceback.join("\n");
    const long = byteLength(trace) > textLimit;
    return {
      output_type: "error",
      ename: cut(name, textLimit),
      evalue: cut(value, textLimit),
      traceback: long ? [cut(trace, textLimit)] : [...traceback],
    };
  }
  const result = rich.kind === "execute_result";
  return {
    output_type: result ? "execute_result" : "display_data",
    data: dataInContext(rich),
    metadata: { ...rich.metadata },
    ...(result ? { execution_count: rich.count } : {}),
  };
}

/** The text of a stream, of which beginning and end are kept. */
function cutStream({ head, tail, missing }: Shown): string {
  const textOfPieces = (pieces: Shown["head"]) => pieces.map((piece) => piece.text.slice(piece.from)).join("");
  const [first, rest] = [textOfPieces(head), textOfPieces(tail)];
  const size = byteLength(first) + byteLength(rest);
  if (size <= textLimit) return first + leftOut(missing) + rest;
  const end = missing === 0 ? first : rest;
  const half = textLimit / 2;
  const from = placeWithin(first, 0, byteLength(first), half);
  const to = placeBehind(end, 0, byteLength(end), byteLength(end) - half);
  const kept = from.bytes + (byteLength(end) - to.bytes);
  return first.slice(0, from.index) + leftOut(missing + size - kept) + end.slice(to.index);
}

function dataInContext(rich: Rich): Record<string, unknown> {
  const mimes = [...Object.keys(rich.data), ...Object.keys(rich.left)].sort();
  return Object.fromEntries(
    mimes.map((mime) => {
      if (mime in rich.data) return [mime, valueInContext(mime, rich.data[mime])];
      return [mime, { mime, bytes: rich.left[mime] }];
    }),
  );
}

function valueInContext(mime: string, value: unknown): unknown {
  const size = jsonBytes(value);
  if (isBinary(mime, value)) {
    const bytes = valueBytes(mime, value, size);
    return bytes > 0 ? { mime, bytes } : value;
  }
  if (size <= textLimit) return value;
  return isObject(value) || isJSONType(mime) ? { mime, bytes: size } : cut(valueText(value), textLimit);
}

/** Widgets, sorted by key. What their states have beside this, or of another type, is left out. */
function widgetsInContext(widgets: Readonly<Record<string, Widget>>) {
  return Object.keys(widgets)
    .sort()
    .map((key) => {
      const { type, label, value } = widgets[key] ?? { type: "" };
      const small = value !== undefined && jsonBytes(value) <= widgetLimit;
      const named = textOf(label) !== "";
      return { key, type: textOf(type), ...(named ? { label } : {}), ...(small ? { value } : {}) };
    });
}

/** Leaves out the middle of outputs that are more than limit bytes together, and says so in its place. */
function within(limit: number, outputs: Output[]): Output[] {
  const sizes = outputs.map(jsonBytes);
  if (sizes.reduce((sum, size) => sum + size, 0) <= limit) return outputs;
  const first = fitting(sizes, limit / 2);
  const last = Math.min(fitting(sizes.toReversed(), limit / 2), outputs.length - first);
  const gone = outputs.length - first - last;
  const note: Output = { output_type: "stream", name: "stdout", text: `\n[... ${gone} outputs left out ...]\n` };
  return [...outputs.slice(0, first), note, ...outputs.slice(outputs.length - last)];
}

/** How many of the first have room together. */
function fitting(sizes: readonly number[], room: number): number {
  let left = room;
  const over = sizes.findIndex((size) => {
    left -= size;
    return left < 0;
  });
  return over < 0 ? sizes.length : over;
}
