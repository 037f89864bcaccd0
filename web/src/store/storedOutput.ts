import { integer, listOfAll, optional, record, required, strict, string, unknown } from "../json/schema";
import { copyOfRecord, emptyRecord, type Fields } from "../json/values";
import type { MimeBundle, Output } from "../protocol/messages";
import { contentBytes, jsonByteLength, valueText } from "./size";
import { byteLength, shortenMiddle } from "./utf8";

/** How many MIME types an output may have. */
const maxMimeTypes = 16;
/** Bytes that a MIME type, or a display id, may have. */
const maxMimeTypeBytes = 128;
/** Bytes up to which a reference keeps a value. */
const maxReferenceValueBytes = 64;

/** The nbformat types of stored outputs. */
export type StoredKind = "display_data" | "execute_result" | "update_display_data" | "error";

/** An output other than text of a stream, as an OutputBuffer stores it. Immutable. */
export interface StoredOutput {
  /** The entry of the trace that it came in; 0: unknown. */
  seq: number;
  kind: StoredKind;
  /** The stored values by MIME type. */
  data: MimeBundle;
  /** Bytes of JSON of each value that came, stored or not. */
  sizes: SizesByMimeType;
  /** Bytes of content of the values that are too large to be stored. */
  omitted: SizesByMimeType;
  /** Those omitted values that are still displayed, as long as memory allows. */
  retained: MimeBundle;
  /** null counts no bytes: the output was made by the page and has no metadata. */
  metadata: Fields | null;
  /** "" for none. */
  displayId: string;
  executionCount: number | null;
  /** Set for the kind "error". */
  error: StoredError | null;
}

/** Bytes by MIME type. */
type SizesByMimeType = Readonly<Record<string, number>>;

interface StoredError {
  name: string;
  value: string;
  traceback: readonly string[];
}

const noMimeValues: MimeBundle = Object.freeze(emptyRecord<unknown>());
const noMimeSizes: SizesByMimeType = Object.freeze(emptyRecord<number>());

const emptyOutput = {
  seq: 0,
  data: noMimeValues,
  sizes: noMimeSizes,
  omitted: noMimeSizes,
  retained: noMimeValues,
  metadata: {},
  displayId: "",
  executionCount: null,
  error: null,
};

interface ErrorOutput {
  ename: string;
  evalue: string;
  traceback: readonly string[];
}

const errorOutputSchema = strict<ErrorOutput>({ ename: string, evalue: string, traceback: listOfAll(string) });

interface DisplayOutput {
  data: MimeBundle;
  metadata?: Fields;
  transient?: { display_id: string };
  execution_count?: number;
}

const displayOutputSchema = strict<DisplayOutput>({
  data: required(record(unknown)),
  metadata: optional(record(unknown)),
  transient: optional(strict<{ display_id: string }>({ display_id: string })),
  execution_count: optional(integer),
});

/** Reads an nbformat output; null if it is malformed, which the server ignores too. */
export function readOutput(seq: number, kind: StoredKind, output: Fields): StoredOutput | null {
  const stored = { ...emptyOutput, seq, kind };
  return kind === "error" ? readError(stored, output) : readDisplay(stored, output);
}

function readError(stored: StoredOutput, output: Fields): StoredOutput | null {
  const fields = errorOutputSchema.parse(output);
  if (fields === undefined) return null;
  const { ename: name, evalue: value, traceback } = fields;
  return { ...stored, error: { name, value, traceback } };
}

/** Returns an error that was reported otherwise than by an output. */
export function storedError(name: string, value: string, traceback: readonly string[]): StoredOutput {
  return { ...emptyOutput, kind: "error", metadata: null, error: { name, value, traceback } };
}

function readDisplay(stored: StoredOutput, output: Fields): StoredOutput | null {
  const fields = displayOutputSchema.parse(output);
  if (fields === undefined) return null;
  const { data, metadata = {}, transient, execution_count: count } = fields;
  const displayId = transient?.display_id ?? "";
  const mimes = Object.keys(data);
  if (mimes.length > maxMimeTypes || [displayId, ...mimes].some((name) => byteLength(name) > maxMimeTypeBytes))
    return null;
  return {
    ...stored,
    data,
    sizes: copyOfRecord(Object.fromEntries(mimes.map((mime) => [mime, jsonByteLength(data[mime])]))),
    displayId,
    metadata,
    executionCount: count !== undefined && count >= 0 ? count : null,
  };
}

const storedSizes = new WeakMap<StoredOutput, number>();

/** Returns the bytes that an output counts in a buffer. Retained values are not counted. */
export function storedBytes(output: StoredOutput): number {
  const known = storedSizes.get(output);
  if (known !== undefined) return known;
  let size = bundleBytes(output, output.data) + metadataBytes(output);
  for (const mime of Object.keys(output.omitted)) size += byteLength(mime);
  if (output.error !== null) {
    size += byteLength(output.error.name) + byteLength(output.error.value);
    for (const line of output.error.traceback) size += byteLength(line);
  }
  storedSizes.set(output, size);
  return size;
}

function metadataBytes({ metadata }: StoredOutput): number {
  return metadata === null ? 0 : jsonByteLength(metadata);
}

/** Returns the bytes of some of an output's values, with their MIME types. */
function bundleBytes(output: StoredOutput, values: MimeBundle): number {
  return Object.keys(values).reduce((sum, mime) => sum + byteLength(mime) + (output.sizes[mime] ?? 0), 0);
}

/**
 * Omits the largest values if the output has more than room bytes. Omitted values are retained
 * up to retainRoom bytes in all.
 */
export function fitOutput(output: StoredOutput, room: number, retainRoom: number): StoredOutput {
  let out = output;
  for (const maxBytes of [room, Math.floor(room / 4), 0]) {
    if (storedBytes(out) > room) out = omitLarge(out, maxBytes);
  }
  const retained = emptyRecord<unknown>();
  let left = retainRoom;
  for (const mime of Object.keys(out.omitted).sort()) {
    const size = output.sizes[mime] ?? 0;
    if (size > left) continue;
    left -= size;
    retained[mime] = output.data[mime];
  }
  return Object.keys(retained).length > 0 ? { ...out, retained } : out;
}

/** Returns the output without its values of more than maxBytes bytes. */
function omitLarge(output: StoredOutput, maxBytes: number): StoredOutput {
  const data = emptyRecord<unknown>();
  const omitted = copyOfRecord(output.omitted);
  for (const [mime, value] of Object.entries(output.data)) {
    const size = output.sizes[mime] ?? 0;
    if (size > maxBytes) omitted[mime] = contentBytes(mime, value, size);
    else data[mime] = value;
  }
  const metadata = metadataBytes(output) > maxBytes ? {} : output.metadata;
  return { ...output, data, omitted, metadata, error: output.error && shortenError(output.error, maxBytes) };
}

function shortenError(error: StoredError, maxBytes: number): StoredError {
  const trace = error.traceback.join("\n");
  if ([error.name, error.value, trace].every((text) => byteLength(text) <= maxBytes)) return error;
  return {
    name: shortenMiddle(error.name, maxBytes),
    value: shortenMiddle(error.value, maxBytes),
    traceback: [shortenMiddle(trace, maxBytes)],
  };
}

/** Returns the output with only its tiny values, as a reference to the entry in the trace. Retained values stay. */
export function referenceToOutput(output: StoredOutput): StoredOutput {
  return omitLarge(output, maxReferenceValueBytes);
}

/** Returns the output `old` with the content of another one. */
export function withContentOf(old: StoredOutput, content: StoredOutput): StoredOutput {
  return { ...content, kind: old.kind, executionCount: old.executionCount };
}

/** Returns the bytes of the retained values. */
export function retainedBytes(output: StoredOutput): number {
  return bundleBytes(output, output.retained);
}

/** Returns the output without its retained values. */
export function withoutRetained(output: StoredOutput): StoredOutput {
  return Object.keys(output.retained).length > 0 ? { ...output, retained: noMimeValues } : output;
}

/** Returns an output as nbformat has it. Its plain text ends with a note about the values that are missing. */
export function toNbformat(output: StoredOutput): Output {
  if (output.error !== null) {
    const { name, value, traceback } = output.error;
    return { output_type: "error", ename: name, evalue: value, traceback: [...traceback] };
  }
  const data = Object.assign(copyOfRecord(output.data), output.retained);
  const note = missingValuesNote(output);
  if (note !== "") data["text/plain"] = "text/plain" in data ? `${valueText(data["text/plain"])}\n${note}` : note;
  const output_type = output.kind === "execute_result" ? "execute_result" : "display_data";
  return {
    output_type,
    data,
    metadata: { ...output.metadata },
    ...(output_type === "execute_result" ? { execution_count: output.executionCount } : {}),
    ...(output.displayId === "" ? {} : { transient: { display_id: output.displayId } }),
  };
}

/** Says which values are missing and where they are; "" if none is. */
function missingValuesNote(output: StoredOutput): string {
  return Object.keys(output.omitted)
    .filter((mime) => !(mime in output.retained))
    .sort()
    .map((mime) => `[${mime}, ${output.omitted[mime]} bytes: in the trace, entry ${output.seq}]`)
    .join("\n");
}
