import { attemptBase, getJSON } from "../../api/client";
import { type Loaded, useLoad } from "../../api/useLoad";
import { type Fields, fieldsOf } from "../../json/read";
import { useVisibleInterval } from "./useVisibleInterval";

const pollMs = 3000;

/** The line of an attempt, or what its folder tells; asked for again until there is a line. */
export function useAttempt(run: string, attempt: string): Loaded<Fields> {
  const base = attemptBase(run, attempt);
  const loaded = useLoad(base, async (signal) => fieldsOf(await getJSON(base, {}, signal)));
  const waits = loaded.data?.state === "running" && !loaded.loading;
  useVisibleInterval(loaded.reload, waits ? pollMs : null);
  return loaded;
}
