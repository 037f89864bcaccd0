import { useEffect, useState } from "react";
import { formatDuration } from "../format/format";
import { useSelect } from "../store/store";
import { executionOf } from "./cellSelectors";

/** The duration of a cell's last run, or the time since its start while it is running. */
export function RunTime({ cellId }: { cellId: string }) {
  const startedAt = useSelect((state) => {
    const run = executionOf(state, cellId);
    return run?.started ? run.startedAt : undefined;
  });
  const took = useSelect((state) => executionOf(state, cellId)?.durationMs);
  if (typeof startedAt === "number") return <RunningTime since={startedAt} />;
  return typeof took === "number" ? formatDuration(took) : null;
}

/** Milliseconds between updates of the time of a running cell, which shows tenths of a second. */
const runTimeUpdateMs = 100;

function RunningTime({ since }: { since: number }) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), runTimeUpdateMs);
    return () => clearInterval(timer);
  }, []);
  const ms = Math.max(0, now - since);
  return ms < 1000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms);
}
