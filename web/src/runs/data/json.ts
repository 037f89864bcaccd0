// Readers for JSON that anybody may have written: each gives what it says or a
// plain nothing, and none throws.

export type Fields = Readonly<Record<string, unknown>>;

/** The object, or one without fields. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The text, or "". */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The finite number, or null. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The list, or one without items. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Those items of a list that are texts. */
export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((item) => typeof item === "string");
}

/** The milliseconds since 1970 of an RFC 3339 time, or null. */
export function timeOf(value: unknown): number | null {
  return numberOf(Date.parse(textOf(value)));
}
