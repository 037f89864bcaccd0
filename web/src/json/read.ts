// Looks at values that somebody else has made: nothing is taken for what it
// should be, each gives what is there or a plain nothing, and none throws.

import { type Fields, isObject } from "./values";

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

/** The milliseconds since 1970 of an RFC 3339 time, or null. */
export function timeOf(value: unknown): number | null {
  return numberOf(Date.parse(textOf(value)));
}

/** Missing or null. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
