import { duration } from "../data/format";
import { type Fields, timeOf } from "../data/json";
import { isSilent } from "../data/lastSign";

/** When an attempt that has no line yet has last written into its trace: a run may have been killed. */
export function LastSign({ line, now }: { line: Fields | null; now: number }) {
  const changed = timeOf(line?.changed);
  if (changed === null) return null;
  const ago = Math.max(0, now - changed);
  return (
    <div>
      <dt>Last sign of life</dt>
      <dd>
        {ago < 5000 ? "just now" : `${duration(ago)} ago`}
        {isSilent(line, now) && ". The program that made the run may have been killed"}
      </dd>
    </div>
  );
}
