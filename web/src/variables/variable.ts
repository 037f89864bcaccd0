import { formatCountOf } from "../format/format";
import { anyList, number, read, string } from "../json/schema";
import { type Fields, isObject } from "../json/values";
import { numericCollator, oneLine, showInvisible } from "../text/displayText";

/** A variable of the kernel in the form in which the page displays it. */
export interface Variable {
  /** The name in the kernel. */
  id: string;
  name: string;
  type: string;
  /** Such as "3 × 2" or "12 items"; "" if it has no size. */
  size: string;
  /** Number of items, for sorting; -1 if it has no size. */
  count: number;
  /** The value in one line. */
  preview: string;
  /** The preview is the reason why the value could not be inspected. */
  isError: boolean;
  isSignal: boolean;
  /** Everything that the row does not show; null: it shows everything. */
  details: VariableDetailTables | null;
}

export interface VariableDetailTables {
  /** The whole preview; "" if the row shows it. */
  text: string;
  /** Names with their types, each table under a heading. */
  tables: readonly { heading: string; columns: readonly DataFrameColumn[] }[];
}

export interface DataFrameColumn {
  name: string;
  dtype: string;
}

const maxLineChars = 160; // maximum characters of a preview in the row
const narrowLineChars = 30; // characters that are visible in a narrow panel
const maxDetailChars = 10_000; // maximum characters of a preview in the details
const maxColumns = 200;

/** Reads the variables from the kernel's summary. Malformed parts are left out. */
export function variablesOf(summary: unknown): Variable[] {
  if (!isObject(summary)) return [];
  return Object.entries(summary).map(([name, info]) => variableOf(name, isObject(info) ? info : {}));
}

/** Returns the new variables, but the old objects for those that have not changed. */
export function reuseUnchanged(before: readonly Variable[], now: readonly Variable[]): Variable[] {
  const known = new Map(before.map((variable) => [variable.id, variable]));
  return now.map((variable) => {
    const old = known.get(variable.id);
    return old !== undefined && JSON.stringify(old) === JSON.stringify(variable) ? old : variable;
  });
}

function variableOf(name: string, info: Fields): Variable {
  const isError = typeof info.error === "string";
  const text = isError ? read(string, info.error) : read(string, info.repr) || substituteRepr(info);
  const preview = oneLine(text, maxLineChars);
  const tables = detailTablesOf(info);
  const long = text.length > narrowLineChars || text.includes("\n");
  return {
    id: name,
    name: oneLine(name, 200),
    type: oneLine(read(string, info.type), 80) || "unknown",
    ...sizeOfVariable(info),
    preview,
    isError,
    isSignal: info.signal === true,
    details:
      long || tables.length > 0 ? { text: long ? showInvisible(text.slice(0, maxDetailChars)) : "", tables } : null,
  };
}

/** Returns a replacement for a missing repr: the dtype of an array or the columns of a data frame. */
function substituteRepr(info: Fields): string {
  if (typeof info.dtype === "string") return info.dtype;
  return read(anyList, info.columns)
    .map((value) => read(string, value))
    .join(", ");
}

function sizeOfVariable(info: Fields): { size: string; count: number } {
  const shape = shapeOfVariable(info);
  if (shape.length > 0) {
    const count = shape.reduce((product, length) => product * length, 1);
    return { size: shape.length > 1 ? shape.join(" × ") : formatCountOf(count, "item"), count };
  }
  const length = number.parse(info.len) ?? null;
  return length === null ? { size: "", count: -1 } : { size: formatCountOf(length, "item"), count: length };
}

function shapeOfVariable(info: Fields): number[] {
  const shape = Array.isArray(info.shape) ? info.shape : [info.n_obs, info.n_vars];
  const numbers = shape.map((value) => number.parse(value) ?? null).filter((length) => length !== null);
  return numbers.length === shape.length ? numbers.slice(0, 8) : [];
}

/**
 * Returns the detail tables of a variable: the columns of a data frame and the annotations of
 * annotated data.
 */
function detailTablesOf(info: Fields): VariableDetailTables["tables"] {
  const parts = [
    columnsTable("Columns", info.dtypes, info.columns, info.column_preview_truncated),
    columnsTable("By observation", info.obs_dtypes, undefined, info.obs_dtypes_truncated),
    columnsTable("By variable", info.var_dtypes, undefined, info.var_dtypes_truncated),
    columnsTable("Embeddings", undefined, info.obsm_keys, false),
  ];
  return parts.filter((part) => part.columns.length > 0);
}

function columnsTable(what: string, dtypes: unknown, names: unknown, truncated: unknown) {
  const types = isObject(dtypes) ? dtypes : {};
  const all = Array.isArray(names) ? names : Object.keys(types);
  const columns = all.slice(0, maxColumns).map((name) => dataFrameColumn(name, types));
  const cut = truncated === true || all.length > maxColumns;
  return { heading: cut ? `${what}, the first ${columns.length}` : what, columns };
}

function dataFrameColumn(name: unknown, types: Record<string, unknown>): DataFrameColumn {
  const key = read(string, name);
  return { name: oneLine(key, 200), dtype: Object.hasOwn(types, key) ? oneLine(read(string, types[key]), 80) : "" };
}

export type VariableSortKey = "name" | "type" | "size";

/**
 * Returns the variables whose name, type or preview contains a text, ignoring case, sorted by a
 * column; down reverses the order.
 */
export function filterAndSortVariables(
  variables: readonly Variable[],
  text: string,
  order: VariableSortKey,
  down: boolean,
): Variable[] {
  const wanted = text.trim().toLowerCase();
  const found = variables.filter(({ name, type, preview }) =>
    [name, type, preview].some((part) => part.toLowerCase().includes(wanted)),
  );
  const byName = (a: Variable, b: Variable) => numericCollator.compare(a.name, b.name);
  const by = {
    name: byName,
    type: (a: Variable, b: Variable) => numericCollator.compare(a.type, b.type) || byName(a, b),
    size: (a: Variable, b: Variable) => a.count - b.count || byName(a, b),
  }[order];
  return found.sort((a, b) => (down ? by(b, a) : by(a, b)));
}
