import { useMemo } from "react";
import { type LoadState, useLoad } from "../../api/useLoad";
import type { AttemptLine } from "../../protocol/api.gen";
import type { Agent } from "../../store/state";
import { readFileText } from "../data/file";
import { useTimeline, useTimelineSelector } from "../timeline/useTimeline";
import { hasReply, maxConversationBytes, readConversation, type StoredConversation } from "./callConversation";

/** Returns the agent's state after the newest entry of the trace. */
export function useAgentAtEnd(): Agent {
  const timeline = useTimeline();
  const heard = useTimelineSelector((moment) => moment.agentEntryCount);
  // biome-ignore lint/correctness/useExhaustiveDependencies: heard changes when checkpoints were added
  return useMemo(() => timeline.agentCheckpoints.at(Number.POSITIVE_INFINITY), [timeline, heard]);
}

/**
 * Loads the conversation that the server has made from an agent's calls of models. Loads nothing
 * while the attempt runs, if it has no such file, or if the agent itself has sent its conversation.
 */
export function useCallConversation(line: AttemptLine): LoadState<StoredConversation> {
  const path = `${useTimeline().source.base}/conversation`;
  const isTraceLoaded = useTimelineSelector((moment) => moment.isLoaded);
  const isSentByAgent = hasReply(useAgentAtEnd().conversation);
  const isStored = line.state !== "running" && (line.files ?? []).some((file) => file.endsWith("/conversation.jsonl"));
  return useLoad(isTraceLoaded && isStored && !isSentByAgent ? path : null, async (signal) =>
    readConversation((await readFileText(path, maxConversationBytes, "beginning", signal)).text),
  );
}
