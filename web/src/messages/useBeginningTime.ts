import { getJSON } from "../api/client";
import { useLoad } from "../api/useLoad";
import { beginningOf } from "./clock";

/** When a trace began, in milliseconds as of Date.now(); null: not known. Only asked for what is wanted. */
export function useBeginningTime(base: string, wanted: boolean): number | null {
  const load = (signal: AbortSignal) => getJSON(`${base}/trace`, { limit: 1, brief: true }, signal).then(beginningOf);
  return useLoad(wanted ? base : null, load).data;
}
