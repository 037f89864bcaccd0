import { attemptApiPath, getJSON } from "../../api/client";
import { type LoadState, useLoad } from "../../api/useLoad";
import { type AttemptLine, attemptLineSchema } from "../../protocol/api.gen";
import { useVisibleInterval } from "./useVisibleInterval";

/** Interval in milliseconds at which a running attempt is reloaded. */
const attemptPollMs = 3000;

/**
 * Loads the line of an attempt, or for an unfinished attempt what its folder contains. Reloads it
 * every 3 s while the attempt is running and the page is visible.
 */
export function useAttempt(run: string, attempt: string): LoadState<AttemptLine> {
  const base = attemptApiPath(run, attempt);
  const loaded = useLoad(base, (signal) => getJSON(base, attemptLineSchema, {}, signal));
  const waits = loaded.data?.state === "running" && !loaded.loading;
  useVisibleInterval(loaded.reload, waits ? attemptPollMs : null);
  return loaded;
}
