// Which forms of an output can be shown, and which of them first.

import { formatBytes } from "../format/format";
import { anyObject } from "../json/schema";
import { linesOf } from "../json/values";
import { drawnNames, traceTypes } from "./figure";

/** One way to show an output. */
export type Form =
  | { kind: "plot"; mime: string; figure: Readonly<Record<string, unknown>> }
  | { kind: "html" | "svg" | "markdown" | "latex" | "text"; mime: string; text: string }
  | { kind: "image" | "audio" | "video"; mime: string; base64: string }
  | { kind: "table"; mime: string; schema: readonly unknown[]; rows: readonly unknown[] }
  | { kind: "json"; mime: string; value: unknown };

export interface Forms {
  /** The richest first. */
  forms: readonly Form[];
  /** What is said of the types that cannot be shown, a sentence each. */
  notes: readonly string[];
}

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"];
const order = [
  "application/vnd.plotly.v1+json",
  "text/html",
  "image/svg+xml",
  ...pictures,
  "text/markdown",
  "text/latex",
  "application/vnd.dataresource+json",
  "application/json",
  "application/geo+json",
];

/** Types of which nothing is to be said when another form can be shown: they are for other programs. */
const silent = /^application\/(?:vnd\.jupyter\.|vnd\.holoviews|vnd\.vega|vnd\.bokeh|javascript)/;

/** Goes through a MIME bundle, whatever is in it. */
export function formsOf(data: unknown): Forms {
  const bundle = anyObject.parse(data);
  if (bundle === undefined) return { forms: [], notes: ["This output has no data that could be shown."] };
  const forms: Form[] = [];
  const notes: string[] = [];
  const odd: string[] = [];
  for (const mime of Object.keys(bundle).sort(byRank)) {
    const form = formOf(mime, bundle[mime]);
    if (typeof form !== "string") forms.push(form);
    else if (silent.test(mime)) odd.push(form);
    else notes.push(form);
  }
  return { forms, notes: forms.length > 0 ? notes : [...notes, ...odd] };
}

function byRank(a: string, b: string): number {
  return rank(a) - rank(b);
}

function rank(mime: string): number {
  const at = order.indexOf(mime);
  if (at >= 0) return at;
  if (/^(?:audio|video)\//.test(mime)) return order.length;
  if (mime === "text/plain") return order.length + 1;
  return mime.startsWith("text/") ? order.length + 2 : order.length + 3;
}

/** The value of one type as a form, or a sentence about why it is none. */
function formOf(mime: string, value: unknown): Form | string {
  const left = leftOut(mime, value);
  if (left !== null) return left;
  if (mime === "application/vnd.plotly.v1+json") return plotOf(mime, value);
  if (mime === "application/vnd.dataresource+json") return tableOf(mime, value);
  if (/^(?:image|audio|video)\//.test(mime) && mime !== "image/svg+xml") return binaryOf(mime, value);
  if (/^application\/(?:[\w.-]+\+)?json$/.test(mime)) return { kind: "json", mime, value };
  const text = linesOf(value);
  if (text === null) return `${mime}: expected text, found ${typeName(value)}.`;
  if (mime === "text/html") return { kind: "html", mime, text };
  if (mime === "image/svg+xml") return { kind: "svg", mime, text };
  if (mime === "text/markdown") return { kind: "markdown", mime, text };
  if (mime === "text/latex") return { kind: "latex", mime, text };
  if (mime.startsWith("text/")) return { kind: "text", mime, text };
  return `${mime} (${formatBytes(text.length)}) cannot be shown here.`;
}

/** A value that the server has left out is {mime, bytes}. */
function leftOut(mime: string, value: unknown): string | null {
  const left = anyObject.parse(value);
  if (left === undefined || left.mime !== mime || typeof left.bytes !== "number") return null;
  return `${mime} (${formatBytes(left.bytes)}) was left out, because it is large: the trace has it.`;
}

function plotOf(mime: string, value: unknown): Form | string {
  const figure = anyObject.parse(value);
  if (figure === undefined || !Array.isArray(figure.data))
    return `${mime}: expected a figure with data, found ${typeName(value)}.`;
  const missing = traceTypes(figure.data).missing;
  if (missing.length === 0) return { kind: "plot", mime, figure };
  return `This figure has traces of type ${missing.join(", ")}, which cannot be drawn here. These can: ${drawnNames}.`;
}

function tableOf(mime: string, value: unknown): Form {
  const table = anyObject.parse(value);
  const fields = anyObject.parse(table?.schema)?.fields;
  if (!Array.isArray(fields) || !Array.isArray(table?.data)) return { kind: "json", mime, value };
  return { kind: "table", mime, schema: fields, rows: table.data };
}

function binaryOf(mime: string, value: unknown): Form | string {
  const text = linesOf(value);
  if (text === null) return `${mime}: expected base64, found ${typeName(value)}.`;
  if (!/^[\w.+/-]+$/.test(mime)) return `${JSON.stringify(mime)} is no type that is known.`;
  const base64 = text.replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64 === "")
    return `${mime}: this is no base64, the data is damaged.`;
  const [kind] = mime.split("/");
  return { kind: kind === "audio" || kind === "video" ? kind : "image", mime, base64 };
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
