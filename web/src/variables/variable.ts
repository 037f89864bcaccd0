import { formatCountOf } from "../format/format";
import { anyList, number, read, string } from "../json/schema";
import { type Fields, isObject } from "../json/values";
import { collator, oneLine, showInvisible } from "../text/displayText";

/** A name that the kernel holds, as it is shown. */
export interface Variable {
  /** The name as the kernel has it. */
  id: string;
  name: string;
  type: string;
  /** As "3 × 2" or "12 items"; "" for what has none. */
  size: string;
  /** How many things are in it, for sorting; -1 for what has no size. */
  count: number;
  /** What it looks like, on one line. */
  preview: string;
  /** The preview is why it could not be inspected. */
  failed: boolean;
  signal: boolean;
  /** All there is to know of it, where the line does not say it; null: it does. */
  details: Details | null;
}

export interface Details {
  /** The whole preview; "": the line has it. */
  text: string;
  /** Names with their types, under a heading each. */
  tables: readonly { heading: string; columns: readonly Column[] }[];
}

export interface Column {
  name: string;
  dtype: string;
}

const line = 160; // characters of a preview that are on the line at most
const narrow = 30; // characters of it that are in view in a narrow panel
const longest = 10_000; // characters of it that are shown at all
const mostColumns = 200;

/** The variables of a summary, whatever it is. */
export function variablesOf(summary: unknown): Variable[] {
  if (!isObject(summary)) return [];
  return Object.entries(summary).map(([name, info]) => variableOf(name, isObject(info) ? info : {}));
}

/** The newer variables, in which those that say the same as before are the ones from before. */
export function keptSame(before: readonly Variable[], now: readonly Variable[]): Variable[] {
  const known = new Map(before.map((variable) => [variable.id, variable]));
  return now.map((variable) => {
    const old = known.get(variable.id);
    return old !== undefined && JSON.stringify(old) === JSON.stringify(variable) ? old : variable;
  });
}

function variableOf(name: string, info: Fields): Variable {
  const failed = typeof info.error === "string";
  const text = failed ? read(string, info.error) : read(string, info.repr) || about(info);
  const preview = oneLine(text, line);
  const tables = tablesOf(info);
  const long = text.length > narrow || text.includes("\n");
  return {
    id: name,
    name: oneLine(name, 200),
    type: oneLine(read(string, info.type), 80) || "unknown",
    ...sizeOf(info),
    preview,
    failed,
    signal: info.signal === true,
    details: long || tables.length > 0 ? { text: long ? showInvisible(text.slice(0, longest)) : "", tables } : null,
  };
}

/** What stands in for a repr where there is none: the dtype of an array, or the columns of a frame. */
function about(info: Fields): string {
  if (typeof info.dtype === "string") return info.dtype;
  return read(anyList, info.columns)
    .map((value) => read(string, value))
    .join(", ");
}

function sizeOf(info: Fields): { size: string; count: number } {
  const shape = shapeOf(info);
  if (shape.length > 0) {
    const count = shape.reduce((product, length) => product * length, 1);
    return { size: shape.length > 1 ? shape.join(" × ") : formatCountOf(count, "item"), count };
  }
  const length = number.parse(info.len) ?? null;
  return length === null ? { size: "", count: -1 } : { size: formatCountOf(length, "item"), count: length };
}

function shapeOf(info: Fields): number[] {
  const shape = Array.isArray(info.shape) ? info.shape : [info.n_obs, info.n_vars];
  const numbers = shape.map((value) => number.parse(value) ?? null).filter((length) => length !== null);
  return numbers.length === shape.length ? numbers.slice(0, 8) : [];
}

/** The columns of a frame, and what is by row and by column of annotated data. */
function tablesOf(info: Fields): Details["tables"] {
  const parts = [
    table("Columns", info.dtypes, info.columns, info.column_preview_truncated),
    table("By observation", info.obs_dtypes, undefined, info.obs_dtypes_truncated),
    table("By variable", info.var_dtypes, undefined, info.var_dtypes_truncated),
    table("Embeddings", undefined, info.obsm_keys, false),
  ];
  return parts.filter((part) => part.columns.length > 0);
}

function table(what: string, dtypes: unknown, names: unknown, truncated: unknown) {
  const types = isObject(dtypes) ? dtypes : {};
  const all = Array.isArray(names) ? names : Object.keys(types);
  const columns = all.slice(0, mostColumns).map((name) => column(name, types));
  const cut = truncated === true || all.length > mostColumns;
  return { heading: cut ? `${what}, the first ${columns.length}` : what, columns };
}

function column(name: unknown, types: Record<string, unknown>): Column {
  const key = read(string, name);
  return { name: oneLine(key, 200), dtype: Object.hasOwn(types, key) ? oneLine(read(string, types[key]), 80) : "" };
}

export type Order = "name" | "type" | "size";

/** The variables in whose name, type or preview the text is, sorted; down: the other way round. */
export function arranged(variables: readonly Variable[], text: string, order: Order, down: boolean): Variable[] {
  const wanted = text.trim().toLowerCase();
  const found = variables.filter(({ name, type, preview }) =>
    [name, type, preview].some((part) => part.toLowerCase().includes(wanted)),
  );
  const byName = (a: Variable, b: Variable) => collator.compare(a.name, b.name);
  const by = {
    name: byName,
    type: (a: Variable, b: Variable) => collator.compare(a.type, b.type) || byName(a, b),
    size: (a: Variable, b: Variable) => a.count - b.count || byName(a, b),
  }[order];
  return found.sort((a, b) => (down ? by(b, a) : by(a, b)));
}
