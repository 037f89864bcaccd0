import { type Fields, isAbsent, isObject, isTexts } from "../json/read";
import { copyOf, emptyRecord } from "../json/record";
import type { MimeBundle, Output } from "../protocol/messages";
import { cut } from "./excerpt";
import { jsonBytes, valueBytes, valueText } from "./size";
import { byteLength } from "./utf8";

/** How many MIME types an output may have; bytes that one, or a display id, may have; bytes up to which a reference keeps a value. */
const mostTypes = 16;
const longestName = 128;
const referenceMax = 64;

export type RichKind = "display_data" | "execute_result" | "update_display_data" | "error";

/** An output that is not text of a stream. It is not changed once made. */
export interface Rich {
  /** The entry of the trace in which it came; 0: it is not known. */
  seq: number;
  kind: RichKind;
  /** By MIME type. */
  data: MimeBundle;
  /** Bytes of JSON of all values, by MIME type, also of those that data does not keep. */
  bytes: Sizes;
  /** What the values that data does not keep stand for, in bytes. */
  left: Sizes;
  /** Those of them that are shown all the same, as long as there is memory for them. */
  held: MimeBundle;
  /** null: it has none, which counts nothing. */
  metadata: Fields | null;
  displayId: string;
  count: number | null;
  /** Of an error. */
  fault: Fault | null;
}

/** Bytes by MIME type. */
type Sizes = Readonly<Record<string, number>>;

interface Fault {
  name: string;
  value: string;
  traceback: readonly string[];
}

const none: MimeBundle = Object.freeze(emptyRecord<unknown>());
const noSizes: Sizes = Object.freeze(emptyRecord<number>());

const blank = {
  seq: 0,
  data: none,
  bytes: noSizes,
  left: noSizes,
  held: none,
  metadata: {},
  displayId: "",
  count: null,
  fault: null,
};

/** Reads an output; null: it cannot be followed. */
export function readRich(seq: number, kind: RichKind, output: Fields): Rich | null {
  const rich = { ...blank, seq, kind };
  return kind === "error" ? readFault(rich, output) : readDisplay(rich, output);
}

function readFault(rich: Rich, output: Fields): Rich | null {
  const { ename: name = "", evalue: value = "", traceback = [] } = output;
  const trace = traceback ?? [];
  if (!isText(name) || !isText(value) || !isTexts(trace)) return null;
  return { ...rich, fault: { name: name ?? "", value: value ?? "", traceback: trace } };
}

/** An error that was told of outside of an output. */
export function faultOf(name: string, value: string, traceback: readonly string[]): Rich {
  return { ...blank, kind: "error", metadata: null, fault: { name, value, traceback } };
}

function isText(value: unknown): value is string | null {
  return typeof value === "string" || value === null;
}

function readDisplay(rich: Rich, output: Fields): Rich | null {
  const { data, metadata, transient, execution_count: count } = output;
  if (!isObject(data)) return null;
  if (!isAbsent(metadata) && !isObject(metadata)) return null;
  if (!isAbsent(count) && !Number.isInteger(count)) return null;
  const displayId = readDisplayId(transient);
  const mimes = Object.keys(data);
  if (displayId === null || mimes.length > mostTypes || mimes.some((mime) => byteLength(mime) > longestName))
    return null;
  return {
    ...rich,
    data: copyOf(data),
    bytes: copyOf(Object.fromEntries(mimes.map((mime) => [mime, jsonBytes(data[mime])]))),
    displayId,
    metadata: isAbsent(metadata) ? {} : metadata,
    count: typeof count === "number" && count >= 0 ? count : null,
  };
}

function readDisplayId(transient: unknown): string | null {
  if (isAbsent(transient)) return "";
  if (!isObject(transient)) return null;
  const id = transient.display_id ?? "";
  return typeof id === "string" && byteLength(id) <= longestName ? id : null;
}

const sizes = new WeakMap<Rich, number>();

/** What an output counts in a tape, in bytes; what is held beside it counts apart. */
export function richBytes(rich: Rich): number {
  const known = sizes.get(rich);
  if (known !== undefined) return known;
  let size = bundleBytes(rich, rich.data) + metadataBytes(rich);
  for (const mime of Object.keys(rich.left)) size += byteLength(mime);
  if (rich.fault !== null) {
    size += byteLength(rich.fault.name) + byteLength(rich.fault.value);
    for (const line of rich.fault.traceback) size += byteLength(line);
  }
  sizes.set(rich, size);
  return size;
}

function metadataBytes({ metadata }: Rich): number {
  return metadata === null ? 0 : jsonBytes(metadata);
}

/** Bytes of some of the values of an output, with their MIME types. */
function bundleBytes(rich: Rich, values: MimeBundle): number {
  return Object.keys(values).reduce((sum, mime) => sum + byteLength(mime) + (rich.bytes[mime] ?? 0), 0);
}

/** rich without its largest values if it would else be larger than room; those are held, as far as hold bytes allow. */
export function fitted(rich: Rich, room: number, hold: number): Rich {
  let out = rich;
  for (const most of [room, Math.floor(room / 4), 0]) {
    if (richBytes(out) > room) out = without(out, most);
  }
  const held = emptyRecord<unknown>();
  let left = hold;
  for (const mime of Object.keys(out.left).sort()) {
    const size = rich.bytes[mime] ?? 0;
    if (size > left) continue;
    left -= size;
    held[mime] = rich.data[mime];
  }
  return Object.keys(held).length > 0 ? { ...out, held } : out;
}

/** rich less its values of more than most bytes. */
function without(rich: Rich, most: number): Rich {
  const data = emptyRecord<unknown>();
  const left = copyOf(rich.left);
  for (const [mime, value] of Object.entries(rich.data)) {
    const size = rich.bytes[mime] ?? 0;
    if (size > most) left[mime] = valueBytes(mime, value, size);
    else data[mime] = value;
  }
  const metadata = metadataBytes(rich) > most ? {} : rich.metadata;
  return { ...rich, data, left, metadata, fault: rich.fault && shortened(rich.fault, most) };
}

function shortened(fault: Fault, most: number): Fault {
  const trace = fault.traceback.join("\n");
  if ([fault.name, fault.value, trace].every((text) => byteLength(text) <= most)) return fault;
  return { name: cut(fault.name, most), value: cut(fault.value, most), traceback: [cut(trace, most)] };
}

/** rich without any value of size. What is held stays so. */
export function reference(rich: Rich): Rich {
  return without(rich, referenceMax);
}

/** The output old with the content of another. */
export function updated(old: Rich, content: Rich): Rich {
  return { ...content, kind: old.kind, count: old.count };
}

/** Bytes of the values that are held. */
export function heldBytes(rich: Rich): number {
  return bundleBytes(rich, rich.held);
}

/** rich without what is held. */
export function released(rich: Rich): Rich {
  return Object.keys(rich.held).length > 0 ? { ...rich, held: none } : rich;
}

/** rich as an nbformat output. Values that are not there are told of behind its plain text. */
export function outputOf(rich: Rich): Output {
  if (rich.fault !== null) {
    const { name, value, traceback } = rich.fault;
    return { output_type: "error", ename: name, evalue: value, traceback: [...traceback] };
  }
  const data = Object.assign(copyOf(rich.data), rich.held);
  const note = absence(rich);
  if (note !== "") data["text/plain"] = "text/plain" in data ? `${valueText(data["text/plain"])}\n${note}` : note;
  const output_type = rich.kind === "execute_result" ? "execute_result" : "display_data";
  return {
    output_type,
    data,
    metadata: { ...rich.metadata },
    ...(output_type === "execute_result" ? { execution_count: rich.count } : {}),
    ...(rich.displayId === "" ? {} : { transient: { display_id: rich.displayId } }),
  };
}

/** Which values are not there, and where they are. */
function absence(rich: Rich): string {
  return Object.keys(rich.left)
    .filter((mime) => !(mime in rich.held))
    .sort()
    .map((mime) => `[${mime}, ${rich.left[mime]} bytes: in the trace, entry ${rich.seq}]`)
    .join("\n");
}
