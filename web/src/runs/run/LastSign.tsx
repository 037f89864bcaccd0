import { useNow } from "../../ui/useNow";
import { duration } from "../data/format";
import { timeOf } from "../data/json";
import { useAttempt } from "../data/useAttempt";

/** After so long without a word in its trace an attempt is likely to be one that nobody makes any more. */
const longMs = 10 * 60_000;

/** When an attempt that has no line yet has last written into its trace: a run may have been killed. */
export function LastSign({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const changed = data?.state === "running" ? timeOf(data.changed) : null;
  const now = useNow(changed !== null);
  if (changed === null) return null;
  const ago = Math.max(0, now - changed);
  return (
    <div>
      <dt>Last sign of life</dt>
      <dd>
        {ago < 5000 ? "just now" : `${duration(ago)} ago`}
        {ago > longMs && ". The program that made the run may have been killed"}
      </dd>
    </div>
  );
}
