import { formatDuration } from "../../format/format";
import { useNow } from "../../ui/useNow";
import { unfinishedDurationMs } from "../data/unfinishedDuration";
import { useAttempt } from "../data/useAttempt";

/** Shows how long an unfinished attempt has run, updated while it is running. */
export function RunningDuration({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const going = data?.state === "running";
  const now = useNow(going);
  return formatDuration(unfinishedDurationMs(data, now));
}
