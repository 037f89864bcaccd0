import { createContext } from "react";
import { parseTimeMs } from "../json/values";
import type { Entry } from "../protocol/messages";

/** When the displayed trace began, in milliseconds since 1970; null if unknown. */
export const TraceBeginningContext = createContext<number | null>(null);

/**
 * Returns when a trace began, in milliseconds since 1970, computed from one of its entries; null if
 * the entry has no times.
 */
export function traceBeginningOf(entry: Entry | undefined): number | null {
  const at = parseTimeMs(entry?.wall);
  return at === null || entry?.t_ns === undefined ? null : at - entry.t_ns / 1e6;
}
