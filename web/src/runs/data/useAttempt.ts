import { attemptApiPath, getJSON } from "../../api/client";
import { type LoadState, useLoad } from "../../api/useLoad";
import { type AttemptLine, attemptLineSchema } from "../../protocol/api.gen";
import { useVisibleInterval } from "./useVisibleInterval";

const pollMs = 3000;

/** The line of an attempt, or what its folder tells; asked for again until there is a line. */
export function useAttempt(run: string, attempt: string): LoadState<AttemptLine> {
  const base = attemptApiPath(run, attempt);
  const loaded = useLoad(base, (signal) => getJSON(base, attemptLineSchema, {}, signal));
  const waits = loaded.data?.state === "running" && !loaded.loading;
  useVisibleInterval(loaded.reload, waits ? pollMs : null);
  return loaded;
}
