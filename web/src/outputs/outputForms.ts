// Finds the forms in which a rich output can be shown, and ranks them.

import { formatBytes } from "../format/format";
import { anyObject } from "../json/schema";
import { textOfStringOrLines } from "../json/values";
import { supportedTraceTypesText, unsupportedTraceTypes } from "./plotlyFigure";

/** One way to show an output: the value of one type of its MIME bundle, ready for the component that shows its kind. */
export type OutputForm =
  | { kind: "plot"; mime: string; figure: Readonly<Record<string, unknown>> }
  | { kind: "html" | "svg" | "markdown" | "latex" | "text"; mime: string; text: string }
  | { kind: "image" | "audio" | "video"; mime: string; base64: string }
  | { kind: "table"; mime: string; schema: readonly unknown[]; rows: readonly unknown[] }
  | { kind: "json"; mime: string; value: unknown };

/** The forms in which an output can be shown, and notes about the types that cannot. */
export interface OutputForms {
  /** Ordered by rank, the richest first; empty if none can be shown. */
  forms: readonly OutputForm[];
  /** One sentence for each type that cannot be shown. */
  notes: readonly string[];
}

const pictureMimeTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"];
/** MIME types by rank, the richest first. Types that are not listed come after these. */
const rankedMimeTypes = [
  "application/vnd.plotly.v1+json",
  "text/html",
  "image/svg+xml",
  ...pictureMimeTypes,
  "text/markdown",
  "text/latex",
  "application/vnd.dataresource+json",
  "application/json",
  "application/geo+json",
];

/** Matches types for other programs: no note mentions them if another form can be shown. */
const unmentionedMimeTypes = /^application\/(?:vnd\.jupyter\.|vnd\.holoviews|vnd\.vega|vnd\.bokeh|javascript)/;

/** Returns the forms in which a MIME bundle can be shown. Accepts any value; notes say what cannot be shown. */
export function outputFormsOf(data: unknown): OutputForms {
  const bundle = anyObject.parse(data);
  if (bundle === undefined) return { forms: [], notes: ["This output has no data that could be shown."] };
  const forms: OutputForm[] = [];
  const notes: string[] = [];
  const odd: string[] = [];
  for (const mime of Object.keys(bundle).sort(compareByRank)) {
    const form = outputFormOf(mime, bundle[mime]);
    if (typeof form !== "string") forms.push(form);
    else if (unmentionedMimeTypes.test(mime)) odd.push(form);
    else notes.push(form);
  }
  return { forms, notes: forms.length > 0 ? notes : [...notes, ...odd] };
}

function compareByRank(a: string, b: string): number {
  return rankOfMimeType(a) - rankOfMimeType(b);
}

/** Returns the position of a MIME type among the forms: 0 is shown first. */
function rankOfMimeType(mime: string): number {
  const at = rankedMimeTypes.indexOf(mime);
  if (at >= 0) return at;
  if (/^(?:audio|video)\//.test(mime)) return rankedMimeTypes.length;
  if (mime === "text/plain") return rankedMimeTypes.length + 1;
  return mime.startsWith("text/") ? rankedMimeTypes.length + 2 : rankedMimeTypes.length + 3;
}

/** Returns the value of one MIME type as a form, or a sentence that says why it cannot be shown. */
function outputFormOf(mime: string, value: unknown): OutputForm | string {
  const left = omittedValueNote(mime, value);
  if (left !== null) return left;
  if (mime === "application/vnd.plotly.v1+json") return plotFormOf(mime, value);
  if (mime === "application/vnd.dataresource+json") return tableFormOf(mime, value);
  if (/^(?:image|audio|video)\//.test(mime) && mime !== "image/svg+xml") return binaryFormOf(mime, value);
  if (/^application\/(?:[\w.-]+\+)?json$/.test(mime)) return { kind: "json", mime, value };
  const text = textOfStringOrLines(value);
  if (text === null) return `${mime}: expected text, found ${jsonTypeName(value)}.`;
  if (mime === "text/html") return { kind: "html", mime, text };
  if (mime === "image/svg+xml") return { kind: "svg", mime, text };
  if (mime === "text/markdown") return { kind: "markdown", mime, text };
  if (mime === "text/latex") return { kind: "latex", mime, text };
  if (mime.startsWith("text/")) return { kind: "text", mime, text };
  return `${mime} (${formatBytes(text.length)}) cannot be shown here.`;
}

/** Returns a note about a value that the server replaced by {mime, bytes} because it was large; null if the value is there. */
function omittedValueNote(mime: string, value: unknown): string | null {
  const left = anyObject.parse(value);
  if (left === undefined || left.mime !== mime || typeof left.bytes !== "number") return null;
  return `${mime} (${formatBytes(left.bytes)}) was left out, because it is large: the trace has it.`;
}

/** Returns a Plotly figure as a form, or a sentence that names the trace types that cannot be drawn. */
function plotFormOf(mime: string, value: unknown): OutputForm | string {
  const figure = anyObject.parse(value);
  if (figure === undefined || !Array.isArray(figure.data))
    return `${mime}: expected a figure with data, found ${jsonTypeName(value)}.`;
  const missing = unsupportedTraceTypes(figure.data);
  if (missing.length === 0) return { kind: "plot", mime, figure };
  return `This figure has traces of type ${missing.join(", ")}, which cannot be drawn here. These can: ${supportedTraceTypesText}.`;
}

/** Returns a data resource as a table; as JSON if it has no fields or rows. */
function tableFormOf(mime: string, value: unknown): OutputForm {
  const table = anyObject.parse(value);
  const fields = anyObject.parse(table?.schema)?.fields;
  if (!Array.isArray(fields) || !Array.isArray(table?.data)) return { kind: "json", mime, value };
  return { kind: "table", mime, schema: fields, rows: table.data };
}

/** Returns base64 data as a picture, audio or video, or a sentence that says why it is invalid. */
function binaryFormOf(mime: string, value: unknown): OutputForm | string {
  const text = textOfStringOrLines(value);
  if (text === null) return `${mime}: expected base64, found ${jsonTypeName(value)}.`;
  if (!/^[\w.+/-]+$/.test(mime)) return `${JSON.stringify(mime)} is not a valid media type.`;
  const base64 = text.replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64 === "") return `${mime}: the data is not valid base64.`;
  const [kind] = mime.split("/");
  return { kind: kind === "audio" || kind === "video" ? kind : "image", mime, base64 };
}

function jsonTypeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
