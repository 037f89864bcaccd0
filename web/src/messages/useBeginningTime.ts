import { readTracePage } from "../api/readTrace";
import { useLoad } from "../api/useLoad";
import { traceBeginningOf } from "./clock";

/**
 * Returns when a trace began, in milliseconds since 1970; null while it is unknown. Loads it only
 * if enabled.
 */
export function useBeginningTime(base: string, isEnabled: boolean): number | null {
  const load = async (signal: AbortSignal) =>
    traceBeginningOf((await readTracePage(base, { limit: 1, brief: true }, signal)).entries[0]);
  return useLoad(isEnabled ? base : null, load).data;
}
