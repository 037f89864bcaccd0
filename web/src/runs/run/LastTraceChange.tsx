import { formatDuration } from "../../format/format";
import { parseTimeMs } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";

/** Shows how long ago an unfinished attempt last wrote to its trace; nothing if the time is unknown. */
export function LastTraceChange({ line, now }: { line: AttemptLine | null; now: number }) {
  const changed = parseTimeMs(line?.changed);
  if (changed === null) return null;
  const ago = Math.max(0, now - changed);
  return (
    <div>
      <dt>Last activity</dt>
      <dd>{ago < 5000 ? "just now" : `${formatDuration(ago)} ago`}</dd>
    </div>
  );
}
