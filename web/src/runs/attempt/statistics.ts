import { getJSON } from "../../api/client";
import { type LoadState, useLoad } from "../../api/useLoad";
import { type TraceStatistics, traceStatisticsSchema } from "../../protocol/api.gen";

/** Loads the statistics of an attempt's trace. base is the attempt's path in the API. */
export function useStatistics(base: string): LoadState<TraceStatistics> {
  return useLoad(`${base}/stats`, (signal) => getJSON(`${base}/stats`, traceStatisticsSchema, {}, signal));
}
