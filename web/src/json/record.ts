// Records without a prototype: any text can be a name in them, "__proto__" and "constructor" too.

/** A copy of a record. */
export function copyOf<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(emptyRecord<T>(), record);
}

export function emptyRecord<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}
