import { readTracePage } from "../api/readTrace";
import { useLoad } from "../api/useLoad";
import { beginningOf } from "./clock";

/** When a trace began, in milliseconds as of Date.now(); null: not known. Only asked for what is wanted. */
export function useBeginningTime(base: string, wanted: boolean): number | null {
  const load = async (signal: AbortSignal) =>
    beginningOf((await readTracePage(base, { limit: 1, brief: true }, signal)).entries[0]);
  return useLoad(wanted ? base : null, load).data;
}
