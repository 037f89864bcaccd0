// JSON values of unknown shape, and records with names of unknown origin.

/** An object of unknown fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** Reports whether a value is an object and not an array. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an empty record without a prototype, in which any name is safe, such as "__proto__". */
export function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

/** Returns a copy of a record, without a prototype. */
export function copyOfRecord<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(emptyRecord<T>(), record);
}

/** Returns an nbformat text, which is a string or a list of lines; null if the value is neither. */
export function textOfStringOrLines(value: unknown): string | null {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((line) => typeof line === "string") ? value.join("") : null;
}

/** Returns an RFC 3339 time in milliseconds since 1970; null if there is none or it cannot be parsed. */
export function parseTimeMs(text: string | undefined): number | null {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? null : ms;
}

/** Returns a value as JSON; "" if it has none (undefined) or is nested too deep. */
export function jsonOrEmpty(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** Returns a string as it is and any other value as JSON; "" for null, undefined and what has no JSON. */
export function textOrJSON(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : jsonOrEmpty(value);
}
