import { useEffect, useMemo } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { MutedText } from "../parts/MutedText";
import { useTimeline, useTimelineSelector } from "../timeline/useTimeline";
import styles from "./AttemptTabs.module.css";

/** The complete conversation of an attempt, updated while the attempt runs. */
export default function WholeConversation({ onEnd }: { onEnd: () => void }) {
  const timeline = useTimeline();
  const heard = useTimelineSelector((moment) => moment.agentEntryCount);
  const loaded = useTimelineSelector((moment) => moment.isLoaded);
  const problem = useTimelineSelector((moment) => moment.problem);
  useEffect(() => timeline.begin(onEnd), [timeline, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: heard changes when checkpoints were added
  const agent = useMemo(() => timeline.agentCheckpoints.at(Number.POSITIVE_INFINITY), [timeline, heard]);
  if (!loaded && problem !== null) return <p role="alert">{problem}</p>;
  if (!loaded) return <MutedText>Loading…</MutedText>;
  return (
    <div className={styles.conversation}>
      <Conversation items={agent.conversation} stream={agent.stream} live={timeline.source.watch !== null} />
    </div>
  );
}
