// Looks at values that somebody else has made: nothing is taken for what it should be.

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text, or "" for what is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The number, or 0 for what is none, or not finite. */
export function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** A text as nbformat has it, whole or in lines; null: it is neither. */
export function linesOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return isTexts(value) ? value.join("") : null;
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

/**
 * A copy of a record without a prototype: any text can be a name in it, "__proto__"
 * and "constructor" too.
 */
export function copyOf<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, record);
}

export function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}
