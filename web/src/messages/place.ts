/** A place in a trace that a person has named. */
export type Place = { seq: number } | { ms: number };

/** Reads "12" or "#12" as an entry, "+1.5", "1.5" or "12s" as seconds since the trace began; null: it is neither. */
export function readPlace(written: string): Place | null {
  const text = written.trim();
  const entry = /^#?(\d{1,15})$/.exec(text);
  if (entry !== null) return { seq: Math.max(1, Number(entry[1])) };
  const seconds = /^\+?(\d{1,9}(?:\.\d*)?|\.\d+) *s?$/.exec(text);
  return seconds === null ? null : { ms: Number(seconds[1]) * 1000 };
}
