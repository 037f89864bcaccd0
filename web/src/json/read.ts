// Looks at values that somebody else has made: nothing is taken for what it
// should be, each gives what is there or a plain nothing, and none throws.

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, or one without fields. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** The object, or null. */
export function recordOf(value: unknown): Fields | null {
  return isObject(value) ? value : null;
}

/** The text, or "" for what is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The finite number, or null. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The finite number, or 0. */
export function numberOrZero(value: unknown): number {
  return numberOf(value) ?? 0;
}

/** The list, or one without items. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Those items of a list that are texts. */
export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((item) => typeof item === "string");
}

/** A text as nbformat has it, whole or in lines; null: it is neither. */
export function linesOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return isTexts(value) ? value.join("") : null;
}

/** The milliseconds since 1970 of an RFC 3339 time, or null. */
export function timeOf(value: unknown): number | null {
  return numberOf(Date.parse(textOf(value)));
}

/** Missing or null. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** A value as JSON; "" for one that has none, or is nested too deep. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** The text; anything else as JSON, "" for null and for what has none. */
export function textOrJSON(value: unknown): string {
  if (typeof value === "string") return value;
  return isAbsent(value) ? "" : jsonOf(value);
}
