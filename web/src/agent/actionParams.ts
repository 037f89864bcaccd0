import { type Fields, isObject, jsonOrEmpty } from "../json/values";
import { byteLength, lastPositionWithin } from "../store/utf8";

/**
 * The error of an action with invalid parameters, or which cannot be carried out. Its message is
 * the same as the server's.
 */
export class ActionError extends Error {
  /** fields are added to the response. */
  constructor(
    text: string,
    readonly fields: { source?: string; rev?: number } = {},
  ) {
    super(text);
    this.name = "ActionError";
  }
}

/**
 * Reads the parameters of an action. A parameter of the wrong type throws an ActionError that names
 * the parameter, what was expected, and what was found.
 */
export class ActionParams {
  constructor(private readonly params: Fields) {}

  /** Reports whether a parameter is there and not null. */
  has(name: string): boolean {
    return (this.value(name) ?? null) !== null;
  }

  text(name: string): string {
    const value = this.value(name);
    return typeof value === "string" ? value : this.fail(name, "a string");
  }

  /** Returns "" for a parameter that is missing or null. */
  optionalText(name: string): string {
    return this.has(name) ? this.text(name) : "";
  }

  id(name: string): string {
    const value = this.value(name);
    return typeof value === "string" && value !== "" ? value : this.fail(name, "a string that is not empty");
  }

  oneOf<T extends string>(name: string, first: T, second: T): T {
    const value = this.value(name);
    return value === first || value === second ? (value as T) : this.fail(name, `"${first}" or "${second}"`);
  }

  integer(name: string): number {
    const value = this.value(name);
    return typeof value === "number" && Number.isSafeInteger(value) ? value : this.fail(name, "an integer");
  }

  /** Returns false for a parameter that is missing or null. */
  flag(name: string): boolean {
    const value = this.value(name);
    if (value === undefined || value === null) return false;
    return typeof value === "boolean" ? value : this.fail(name, "true or false");
  }

  /** Returns {} for a parameter that is missing or null. */
  optionalObject(name: string): Fields {
    const value = this.value(name);
    if (value === undefined || value === null) return {};
    return isObject(value) ? value : this.fail(name, "an object");
  }

  fail(name: string, expected: string): never {
    // Throws the ActionError of a parameter.
    throw new ActionError(`${name}: expected ${expected}, found ${describeValue(this.value(name))}`);
  }

  private value(name: string): unknown {
    return Object.hasOwn(this.params, name) ? this.params[name] : undefined;
  }
}

/**
 * Describes a JSON value for an error message: as JSON if that has at most 60 bytes, else "an
 * object", "an array", or the beginning of the JSON text; "nothing" for undefined.
 */
export function describeValue(value: unknown): string {
  const maxBytes = 60;
  if (value === undefined) return "nothing";
  const text = jsonOrEmpty(value);
  const bytes = byteLength(text);
  if (text !== "" && bytes <= maxBytes) return text;
  if (isObject(value)) return "an object";
  if (Array.isArray(value)) return "an array";
  return `${text.slice(0, lastPositionWithin(text, 0, bytes, maxBytes).index)}...`;
}
