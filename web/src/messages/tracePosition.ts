/** A position in a trace: an entry number, or milliseconds since the trace began. */
export type TracePosition = { seq: number } | { ms: number };

/**
 * Parses "12" or "#12" as an entry number, and "+1.5", "1.5" or "12s" as seconds since the trace
 * began; null if it is neither.
 */
export function parsePosition(written: string): TracePosition | null {
  const text = written.trim();
  const entry = /^#?(\d{1,15})$/.exec(text);
  if (entry !== null) return { seq: Math.max(1, Number(entry[1])) };
  const seconds = /^\+?(\d{1,9}(?:\.\d*)?|\.\d+) *s?$/.exec(text);
  return seconds === null ? null : { ms: Number(seconds[1]) * 1000 };
}
