import { isObject, textOfStringOrLines } from "../json/values";
import type { Output, RichOutput } from "../protocol/messages";
import { isJSONType } from "../store/size";
import type { Cell, Execution, State } from "../store/state";

/**
 * Returns the notebook with its outputs as a Jupyter notebook (nbformat 4.5, JSON). language is
 * that of the code cells.
 */
export function ipynbOf({ order, cells, executions }: State["notebook"], language: string): string {
  const ids = new Set<string>();
  const file = {
    cells: order.flatMap((id) => {
      const cell = cells[id];
      return cell === undefined ? [] : [ipynbCellOf(cell, executions[id], uniqueCellId(id, ids))];
    }),
    metadata: {
      kernelspec: { name: kernelNameOf(language), display_name: kernelNameOf(language), language },
      language_info: { name: language },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(file, null, 1)}\n`;
}

/** Returns Jupyter's kernel name for a language. */
function kernelNameOf(language: string): string {
  return language === "python" ? "python3" : language;
}

/** Returns a cell id that nbformat allows and that is not in `taken`, if possible the given one, and adds it to `taken`. */
function uniqueCellId(id: string, taken: Set<string>): string {
  let own = /^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : "cell-1";
  for (let n = 2; taken.has(own); n++) own = `cell-${n}`;
  taken.add(own);
  return own;
}

/** Returns a cell as nbformat has it. The title, and a cell id that nbformat does not allow, go into its metadata. */
function ipynbCellOf({ id: known, type, source, title }: Cell, run: Execution | undefined, id: string) {
  const own = { ...(id === known ? {} : { cell_id: known }), ...(title === "" ? {} : { title }) };
  const common = { id, metadata: Object.keys(own).length > 0 ? { assay: own } : {}, source: splitLines(source) };
  if (type === "markdown") return { cell_type: "markdown", ...common };
  const execution_count = run !== undefined && run.count > 0 ? run.count : null;
  return { cell_type: "code", ...common, execution_count, outputs: (run?.outputs ?? []).map(ipynbOutputOf) };
}

function ipynbOutputOf(output: Output) {
  switch (output.output_type) {
    case "stream":
      return { output_type: "stream", name: output.name, text: splitLines(textOfStringOrLines(output.text) ?? "") };
    case "error": {
      const { ename, evalue, traceback } = output;
      return { output_type: "error", ename, evalue, traceback };
    }
    default:
      return ipynbRichOutputOf(output);
  }
}

/** Returns a display or result as nbformat has it. Values that the page does not have are replaced by a note in text/plain. */
function ipynbRichOutputOf({ output_type, data, metadata, execution_count }: RichOutput) {
  const kept: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [mime, value] of Object.entries(data)) {
    const text = textOfStringOrLines(value);
    if (isJSONType(mime)) kept[mime] = value;
    else if (text === null) missing.push(`[${mime} is not in this file]`);
    else kept[mime] = isBinaryType(mime) ? text : splitLines(text);
  }
  if (missing.length > 0) kept["text/plain"] ??= splitLines(missing.join("\n"));
  const count = output_type === "execute_result" ? { execution_count: execution_count ?? null } : {};
  return { output_type, data: kept, metadata: isObject(metadata) ? metadata : {}, ...count };
}

/** Reports whether nbformat stores values of a MIME type as one base64 string instead of a list of lines. */
function isBinaryType(mime: string): boolean {
  return !mime.startsWith("text/") && !/[+/]xml$/.test(mime) && mime !== "application/javascript";
}

/** Splits a text into lines, which keep their line feeds; [] for "". */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
