// Numbers as people read them. null, which is what is not known, is a dash; what
// cannot be, as a negative time, or one of millions of years, is a question mark.

const none = "–";

/** What is shown of a number that cannot be. */
export const absurd = "?";

/** A hundred years, in milliseconds. */
const mostMs = 100 * 366 * 24 * 3_600_000;
const mostUsd = 1e9;
const most = 1e15;
const mostShare = 1e4;
/** A Date is no further from 1970, in milliseconds. */
const mostDate = 8.64e15;

function isWithin(n: number, least: number, greatest: number): boolean {
  return n >= least && n <= greatest; // NaN is not
}

/** Milliseconds as "120 ms", "1.2 s", "2 min 05 s" or "1 h 03 min". */
export function duration(ms: number | null): string {
  if (ms === null) return none;
  if (!isWithin(ms, 0, mostMs)) return absurd;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** A time within an attempt, in seconds: "0.048 s", "12.3 s", then as a duration. */
export function clock(ms: number): string {
  return ms >= 0 && ms < 10_000 ? `${(ms / 1000).toFixed(3)} s` : duration(ms);
}

/** Dollars, with more digits the fewer they are. */
export function cost(usd: number | null): string {
  if (usd === null) return none;
  if (!isWithin(usd, 0, mostUsd)) return absurd;
  if (usd === 0 || usd >= 0.995) return `$${usd.toFixed(2)}`;
  return `$${usd.toFixed(usd < 0.01 ? 4 : 3)}`;
}

/** A count, shortened from 10,000 on: "9,876", "12.3 k", "4.5 M". */
export function count(n: number | null): string {
  if (n === null) return none;
  if (!isWithin(n, 0, most)) return absurd;
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)} M`;
  if (n >= 1e4) return `${(n / 1e3).toFixed(1)} k`;
  return n.toLocaleString("en");
}

/** How many of something: "1 line", "12,345 lines". */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** A size as "12 B", "3.4 KiB", "5.6 MiB". */
export function size(bytes: number | null): string {
  if (bytes === null) return none;
  if (!isWithin(bytes, 0, most)) return absurd;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let n = bytes;
  while (n >= 1024 && at < units.length - 1) {
    n /= 1024;
    at++;
  }
  return `${at === 0 ? n : n.toFixed(1)} ${units[at]}`;
}

/** A share of 1 as "96 %", or "96.4 %" with a digit. */
export function percent(share: number | null, digits = 0): string {
  if (share === null) return none;
  return isWithin(share, 0, mostShare) ? `${(share * 100).toFixed(digits)} %` : absurd;
}

/** A score, with at most three digits. */
export function score(value: number | null): string {
  if (value === null) return none;
  return isWithin(value, -most, most) ? String(Math.round(value * 1000) / 1000) : absurd;
}

/** When it was, in the reader's zone, to the minute; ms since 1970. */
export function when(ms: number | null): string {
  if (ms === null) return none;
  if (!isWithin(ms, -mostDate, mostDate)) return absurd;
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" }).format(ms);
}
