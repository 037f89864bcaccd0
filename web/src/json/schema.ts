// Schemas of JSON values. Whatever comes from outside (the server, a kernel, an agent, the
// browser's storage) is checked once with a schema where it enters, and is typed from then on.

import { emptyRecord, isObject, type Fields as UnknownFields } from "./values";

/** The type of a JSON value, and how to check a value for it. */
export interface Schema<T> {
  /** Returns the value, for an object a copy of its known fields; undefined: it is not a T. */
  parse(value: unknown): T | undefined;
  /** What an object has for a field that is missing or not a T. Without it the field is left out. */
  readonly fallback?: T;
  /** An object without this field is not valid. */
  readonly required?: true;
}

/** A schema whose value counts as something where it is missing or not a T. */
export type SchemaWithFallback<T> = Schema<T> & { readonly fallback: T };

/** The schemas of the fields of T. */
export type FieldSchemas<T> = { readonly [K in keyof T]-?: Schema<Exclude<T[K], undefined>> };

/** Returns the value as the schema parses it, or the schema's fallback if it is not a T. */
export function read<T>(schema: SchemaWithFallback<T>, value: unknown): T {
  return schema.parse(value) ?? schema.fallback;
}

export const string: SchemaWithFallback<string> = {
  parse: (value) => (typeof value === "string" ? value : undefined),
  fallback: "",
};

/** A string that is not empty. */
export const nonEmpty: Schema<string> = {
  parse: (value) => (typeof value === "string" && value !== "" ? value : undefined),
};

/** A finite number. */
export const number: SchemaWithFallback<number> = {
  parse: (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined),
  fallback: 0,
};

/** An integer from -(2^53 - 1) to 2^53 - 1. */
export const integer: SchemaWithFallback<number> = {
  parse: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  fallback: 0,
};

export const boolean: SchemaWithFallback<boolean> = {
  parse: (value) => (typeof value === "boolean" ? value : undefined),
  fallback: false,
};

/** Any value. A missing one is null. */
export const unknown: SchemaWithFallback<unknown> = { parse: (value) => value, fallback: null };

/** Any object; the fallback is an empty one. */
export const anyObject: SchemaWithFallback<UnknownFields> = {
  parse: (value) => (isObject(value) ? value : undefined),
  fallback: {},
};

/** Any array; the fallback is an empty one. */
export const anyList: SchemaWithFallback<readonly unknown[]> = {
  parse: (value) => (Array.isArray(value) ? value : undefined),
  fallback: [],
};

/** One of some strings; the fallback is the first. */
export function oneOf<const T extends string>(first: T, ...others: T[]): SchemaWithFallback<T> {
  const all: readonly unknown[] = [first, ...others];
  return { parse: (value) => (all.includes(value) ? (value as T) : undefined), fallback: first };
}

/** A T or null; the fallback is null. */
export function nullable<T>(schema: Schema<T>): SchemaWithFallback<T | null> {
  return { parse: (value) => (value === null ? null : schema.parse(value)), fallback: null };
}

/** A field that is left out where it is missing or not a T. */
export function optional<T>(schema: Schema<T>): Schema<T> {
  return { parse: (value) => schema.parse(value) };
}

/** A field without which an object is not valid. */
export function required<T>(schema: Schema<T>): Schema<T> {
  return { parse: (value) => schema.parse(value), required: true };
}

/** A list of T. Items that are not a T are left out; the fallback is an empty list. */
export function list<T>(item: Schema<T>): SchemaWithFallback<readonly T[]> {
  return {
    parse: (value) => (Array.isArray(value) ? value.flatMap((one) => item.parse(one) ?? []) : undefined),
    fallback: [],
  };
}

/** A list of T, not valid if one item is not a T; the fallback is an empty list. */
export function listOfAll<T>(item: Schema<T>): SchemaWithFallback<readonly T[]> {
  const items = list(item);
  return {
    parse(value) {
      const parsed = items.parse(value);
      return Array.isArray(value) && parsed?.length === value.length ? parsed : undefined;
    },
    fallback: [],
  };
}

/** An object with any names and values of T. Values that are not a T are left out; the fallback is an empty object. */
export function record<T>(item: Schema<T>): SchemaWithFallback<Readonly<Record<string, T>>> {
  return {
    parse(value) {
      if (!isObject(value)) return undefined;
      const out = emptyRecord<T>();
      for (const [name, one] of Object.entries(value)) {
        const parsed = item.parse(one);
        if (parsed !== undefined) out[name] = parsed;
      }
      return out;
    },
    fallback: emptyRecord<T>(),
  };
}

/** A schema of objects, which extend can add fields to. */
export type ObjectSchema<T> = SchemaWithFallback<T> & { readonly fields: FieldSchemas<T> };

/** An object with these fields. One that is missing or not valid has its fallback. */
export function object<T extends object>(fields: FieldSchemas<T>): ObjectSchema<T> {
  return createObjectSchema(fields, false);
}

/** An object with these fields, not valid if one of them is there, not null, and not valid. */
export function strict<T extends object>(fields: FieldSchemas<T>): ObjectSchema<T> {
  return createObjectSchema(fields, true);
}

/** A T with further fields, or with other schemas for some of its fields. */
export function extend<T extends object, More extends object>(
  schema: ObjectSchema<T>,
  more: FieldSchemas<More>,
): ObjectSchema<Omit<T, keyof More> & More> {
  return object({ ...schema.fields, ...more } as unknown as FieldSchemas<Omit<T, keyof More> & More>);
}

/** A T whose other fields are as they came. */
export function withOtherFields<T extends object>(schema: ObjectSchema<T>): SchemaWithFallback<T & UnknownFields> {
  return {
    parse(value) {
      const known = schema.parse(value);
      if (known === undefined || !isObject(value)) return undefined;
      const others = Object.entries(value).filter(([name]) => !Object.hasOwn(schema.fields, name));
      return { ...Object.fromEntries(others), ...known } as T & UnknownFields;
    },
    fallback: schema.fallback as T & UnknownFields,
  };
}

function createObjectSchema<T extends object>(fields: FieldSchemas<T>, isStrict: boolean): ObjectSchema<T> {
  const entries = Object.entries(fields) as [string, Schema<unknown>][];
  const parse = (value: unknown): T | undefined => {
    if (!isObject(value)) return undefined;
    const out: Record<string, unknown> = {};
    for (const [name, schema] of entries) {
      const given = value[name];
      let parsed = given === undefined ? undefined : schema.parse(given);
      if (parsed === undefined) {
        const isWrong = isStrict && given !== undefined && given !== null;
        if (schema.required === true || isWrong) return undefined;
        parsed = schema.fallback;
      }
      if (parsed !== undefined) out[name] = parsed;
    }
    return out as T;
  };
  const fallback = Object.fromEntries(
    entries.flatMap(([name, schema]) => (schema.fallback === undefined ? [] : [[name, schema.fallback]])),
  );
  return { parse, fallback: fallback as T, fields };
}
