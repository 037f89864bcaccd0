// Numbers for people. null, which means unknown, is a dash; an impossible number, such as a
// negative time, is a question mark.

const unknownText = "–";

/** The text for a number out of its range, such as a negative duration. */
export const outOfRangeText = "?";

/** The longest duration that is formatted, in milliseconds: a hundred years. */
const maxDurationMs = 100 * 366 * 24 * 3_600_000;
const maxUsd = 1e9;
const maxNumber = 1e15;
const maxShare = 1e4;
/** The largest time of a Date, in milliseconds from 1970. */
const maxDateMs = 8.64e15;

function isNumberWithin(n: number, min: number, max: number): boolean {
  return n >= min && n <= max; // NaN is not
}

/** Formats milliseconds as "120 ms", "1.2 s", "2 min 05 s" or "1 h 03 min". */
export function formatDuration(ms: number | null): string {
  if (ms === null) return unknownText;
  if (!isNumberWithin(ms, 0, maxDurationMs)) return outOfRangeText;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${twoDigits(Math.floor((seconds % 3600) / 60))} min`;
}

function twoDigits(n: number): string {
  return String(n).padStart(2, "0");
}

/**
 * Formats a time within an attempt, in milliseconds: "0.048 s" and "9.999 s", from 10 s on like
 * formatDuration.
 */
export function formatAttemptTime(ms: number): string {
  return ms >= 0 && ms < 10_000 ? `${(ms / 1000).toFixed(3)} s` : formatDuration(ms);
}

/** Formats dollars, with more digits for small amounts. */
export function formatCost(usd: number | null): string {
  if (usd === null) return unknownText;
  if (!isNumberWithin(usd, 0, maxUsd)) return outOfRangeText;
  if (usd === 0 || usd >= 0.995) return `$${usd.toFixed(2)}`;
  return `$${usd.toFixed(usd < 0.01 ? 4 : 3)}`;
}

/** Formats a count, shortened from 10,000 on: "9,876", "12.3 k", "4.5 M". */
export function formatCount(n: number | null): string {
  if (n === null) return unknownText;
  if (!isNumberWithin(n, 0, maxNumber)) return outOfRangeText;
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  if (n >= 1e4) return `${(n / 1e3).toFixed(1)} k`;
  return n.toLocaleString("en");
}

/** Formats a count with its noun: "1 line", "12,345 lines". */
export function formatCountOf(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** Formats bytes as "12 B", "3.4 KiB" or "5.6 MiB". */
export function formatBytes(bytes: number | null): string {
  if (bytes === null) return unknownText;
  if (!isNumberWithin(bytes, 0, maxNumber)) return outOfRangeText;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let n = bytes;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 ? n : n.toFixed(1)} ${units[unit]}`;
}

/** Formats a share of 1 as "96 %", or with a digit as "96.4 %". */
export function formatPercent(share: number | null, digits = 0): string {
  if (share === null) return unknownText;
  return isNumberWithin(share, 0, maxShare) ? `${(share * 100).toFixed(digits)} %` : outOfRangeText;
}

/** Formats a score with at most three digits. */
export function formatScore(value: number | null): string {
  if (value === null) return unknownText;
  return isNumberWithin(value, -maxNumber, maxNumber) ? String(Math.round(value * 1000) / 1000) : outOfRangeText;
}

/** Formats a time, in milliseconds since 1970, in the user's time zone, to the minute. */
export function formatDateTime(ms: number | null): string {
  if (ms === null) return unknownText;
  if (!isNumberWithin(ms, -maxDateMs, maxDateMs)) return outOfRangeText;
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" }).format(ms);
}
