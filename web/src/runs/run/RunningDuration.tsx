import { useNow } from "../../ui/useNow";
import { duration } from "../data/format";
import { runningMs } from "../data/lastSign";
import { useAttempt } from "../data/useAttempt";

/** How long an attempt that has no line yet has been going on. */
export function RunningDuration({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const going = data?.state === "running";
  const now = useNow(going);
  return duration(going ? runningMs(data, now) : null);
}
