import { type Fields, isAbsent, isObject, jsonOf } from "../json/read";
import { byteLength, placeWithin } from "../store/utf8";

/** What is wrong with an action, in the server's own words. */
export class ActionError extends Error {
  /** more is told beside the error. */
  constructor(
    text: string,
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(text);
    this.name = "ActionError";
  }
}

/** Takes the members of an object. The first that is not as it should be is thrown as a complaint: which, what was expected, what was found. */
export class Reader {
  constructor(private readonly members: Fields) {}

  /** Whether name is there and not null. */
  has(name: string): boolean {
    return !isAbsent(this.member(name));
  }

  text(name: string): string {
    const value = this.member(name);
    return typeof value === "string" ? value : this.complain(name, "a string");
  }

  /** "" for a member that is missing or null. */
  optionalText(name: string): string {
    return this.has(name) ? this.text(name) : "";
  }

  id(name: string): string {
    const value = this.member(name);
    return typeof value === "string" && value !== "" ? value : this.complain(name, "a string that is not empty");
  }

  oneOf<T extends string>(name: string, first: T, second: T): T {
    const value = this.member(name);
    return value === first || value === second ? (value as T) : this.complain(name, `"${first}" or "${second}"`);
  }

  integer(name: string): number {
    const value = this.member(name);
    return typeof value === "number" && Number.isSafeInteger(value) ? value : this.complain(name, "an integer");
  }

  /** false for a member that is missing or null. */
  flag(name: string): boolean {
    const value = this.member(name);
    if (isAbsent(value)) return false;
    return typeof value === "boolean" ? value : this.complain(name, "true or false");
  }

  /** An object; one without members for a member that is missing or null. */
  optionalObject(name: string): Fields {
    const value = this.member(name);
    if (isAbsent(value)) return {};
    return isObject(value) ? value : this.complain(name, "an object");
  }

  complain(name: string, expected: string): never {
    throw new ActionError(`${name}: expected ${expected}, found ${describe(this.member(name))}`);
  }

  private member(name: string): unknown {
    return Object.hasOwn(this.members, name) ? this.members[name] : undefined;
  }
}

/** What a JSON value is in a complaint: short ones as they are. */
export function describe(value: unknown): string {
  const most = 60;
  if (value === undefined) return "nothing";
  const text = jsonOf(value);
  const bytes = byteLength(text);
  if (text !== "" && bytes <= most) return text;
  if (isObject(value)) return "an object";
  if (Array.isArray(value)) return "an array";
  return `${text.slice(0, placeWithin(text, 0, bytes, most).index)}...`;
}
