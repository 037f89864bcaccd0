import { useState } from "react";
import { traceSourceOfAttempt } from "../../api/client";
import { Problem } from "../../api/Problem";
import type { AttemptLine } from "../../protocol/api.gen";
import { useAttempt } from "../data/useAttempt";
import { MutedText } from "../parts/MutedText";
import { TimelineProvider, useNewTimeline } from "../timeline/useTimeline";
import { AttemptHead } from "./AttemptHead";
import { AttemptTabs } from "./AttemptTabs";

/**
 * An attempt: heading and tabs. Its line in attempts.jsonl is loaded first, the rest when its tab
 * is opened.
 */
export function AttemptView({ run, name }: { run: string; name: string }) {
  const { data: line, error, reload } = useAttempt(run, name);
  return (
    <>
      {error && <Problem what="The attempt could not be loaded" error={error} onRetry={reload} />}
      {line === null && error === null && <MutedText>Loading…</MutedText>}
      {line !== null && <AttemptHead run={run} name={name} line={line} />}
      {line !== null && <AttemptWithTimeline run={run} name={name} line={line} onEnd={reload} />}
    </>
  );
}

interface Props {
  run: string;
  name: string;
  line: AttemptLine;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/**
 * Heading and tabs of an attempt, with a timeline of its trace. When a running attempt ends, the
 * timeline keeps its position.
 */
function AttemptWithTimeline({ run, name, line, onEnd }: Props) {
  const [source] = useState(() => traceSourceOfAttempt(run, name, line.state === "running"));
  const timeline = useNewTimeline(source);
  if (timeline === null) return null;
  return (
    <TimelineProvider value={timeline}>
      <AttemptTabs line={line} onEnd={onEnd} />
    </TimelineProvider>
  );
}
