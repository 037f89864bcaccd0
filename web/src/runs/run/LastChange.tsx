import { formatDuration } from "../../format/format";
import { timeOf } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";

/** When an attempt that has no line has last written into its trace. */
export function LastChange({ line, now }: { line: AttemptLine | null; now: number }) {
  const changed = timeOf(line?.changed);
  if (changed === null) return null;
  const ago = Math.max(0, now - changed);
  return (
    <div>
      <dt>Last sign of life</dt>
      <dd>{ago < 5000 ? "just now" : `${formatDuration(ago)} ago`}</dd>
    </div>
  );
}
