import { formatDuration } from "../../format/format";
import { useNow } from "../../ui/useNow";
import { openMs } from "../data/lastSign";
import { useAttempt } from "../data/useAttempt";

/** How long an attempt that has no line has been going on, or did. */
export function RunningDuration({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const going = data?.state === "running";
  const now = useNow(going);
  return formatDuration(openMs(data, now));
}
