import { duration } from "../format/format";
import { secondsUntil, useNow } from "../ui/useNow";

/** When each announcement of a retry was first seen: it has no time of its own. */
const seen = new WeakMap<object, number>();

interface Props {
  /** The announcement. */
  of: object;
  /** How long the pause is, in milliseconds. */
  wait: number;
  /** It still goes on. */
  pending: boolean;
}

/** When a call of the model is made again: counted down while that is ahead. */
export function RetryCountdown({ of, wait, pending }: Props) {
  const now = useNow(pending);
  if (!pending) return <>, again after {duration(wait)}</>;
  const began = seen.get(of) ?? now;
  seen.set(of, began);
  const left = secondsUntil(began + wait, now);
  return <>{left > 0 ? `, again in ${left} s` : ", again now"}</>;
}
