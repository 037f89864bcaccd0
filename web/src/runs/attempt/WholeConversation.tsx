import { useEffect, useMemo } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import type { Agent } from "../../store/state";
import { readFileText } from "../data/file";
import { MutedText } from "../parts/MutedText";
import { useTimeline, useTimelineSelector } from "../timeline/useTimeline";
import styles from "./AttemptTabs.module.css";
import { hasReply, itemsOfConversation, maxConversationBytes } from "./callConversation";

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
  const live = timeline.source.watch !== null;
  return (
    <div className={styles.conversation}>
      {live || hasReply(agent.conversation) ? (
        <Conversation items={agent.conversation} stream={agent.stream} live={live} />
      ) : (
        <CallConversation base={timeline.source.base} agent={agent} />
      )}
    </div>
  );
}

/** The conversation of an agent that has sent none, from its calls of models; then its errors. */
function CallConversation({ base, agent }: { base: string; agent: Agent }) {
  const path = `${base}/conversation`;
  const { data, error, reload } = useLoad(path, async (signal) =>
    itemsOfConversation((await readFileText(path, maxConversationBytes, "beginning", signal)).text),
  );
  if (error) return <Problem what="The conversation could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <MutedText>Loading…</MutedText>;
  const others = data.length === 0 ? agent.conversation : agent.conversation.filter((item) => item.kind === "error");
  return <Conversation items={[...data, ...others]} stream={agent.stream} live={false} />;
}
