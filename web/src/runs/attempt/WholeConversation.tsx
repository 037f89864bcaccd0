import { type ReactNode, useEffect, useMemo } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import type { Agent, ConversationItem, StreamBlock } from "../../store/state";
import { readFileText } from "../data/file";
import { useOnEnd } from "../data/useOnEnd";
import { useVisibleInterval } from "../data/useVisibleInterval";
import { MutedText } from "../parts/MutedText";
import { useTimeline, useTimelineSelector } from "../timeline/useTimeline";
import styles from "./AttemptTabs.module.css";
import { CallTotalsBar } from "./CallTotalsBar";
import { hasReply, maxConversationBytes, readConversation } from "./callConversation";
import { loadModelCalls, turnsOf } from "./modelCalls";
import { useStatistics } from "./statistics";
import { TurnCost } from "./TurnCost";

/** How often the costs of a running attempt are loaded again, in milliseconds. */
const reloadIntervalMs = 3000;

interface Props {
  /** Whether the attempt still runs: only then more is to come, and its calls have no conversation yet. */
  running: boolean;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/** The complete conversation of an attempt, updated while the attempt runs. */
export default function WholeConversation({ running, onEnd }: Props) {
  const timeline = useTimeline();
  const heard = useTimelineSelector((moment) => moment.agentEntryCount);
  const loaded = useTimelineSelector((moment) => moment.isLoaded);
  const problem = useTimelineSelector((moment) => moment.problem);
  useEffect(() => timeline.begin(onEnd), [timeline, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: heard changes when checkpoints were added
  const agent = useMemo(() => timeline.agentCheckpoints.at(Number.POSITIVE_INFINITY), [timeline, heard]);
  if (!loaded && problem !== null) return <p role="alert">{problem}</p>;
  if (!loaded) return <MutedText>Loading…</MutedText>;
  const { base } = timeline.source;
  return (
    <div className={styles.conversation}>
      {running || hasReply(agent.conversation) ? (
        <PricedConversation base={base} items={agent.conversation} stream={agent.stream} live={running} />
      ) : (
        <CallConversation base={base} agent={agent} />
      )}
    </div>
  );
}

/** The conversation of an agent that has sent none, from its calls of models; then its errors. */
function CallConversation({ base, agent }: { base: string; agent: Agent }) {
  const path = `${base}/conversation`;
  const { data, error, reload } = useLoad(path, async (signal) =>
    readConversation((await readFileText(path, maxConversationBytes, "beginning", signal)).text),
  );
  const items = useMemo(() => {
    if (data === null) return [];
    const isEmpty = data.items.length === 0;
    return [...data.items, ...agent.conversation.filter((item) => isEmpty || item.kind === "error")];
  }, [data, agent]);
  if (error) return <Problem what="The conversation could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <MutedText>Loading…</MutedText>;
  return <PricedConversation base={base} items={items} stream={agent.stream} live={false} callOfSeq={data.callOfSeq} />;
}

interface PricedProps {
  base: string;
  items: readonly ConversationItem[];
  stream: readonly StreamBlock[] | null;
  live: boolean;
  /** See turnsOf. */
  callOfSeq?: ReadonlyMap<number, number>;
}

/** A conversation with the tokens, the cost and the time of each message of the agent, and of all below it. */
function PricedConversation({ base, items, stream, live, callOfSeq }: PricedProps) {
  const calls = useLoad(`${base} calls`, (signal) => loadModelCalls(base, signal));
  const statistics = useStatistics(base);
  const error = calls.error ?? statistics.error;
  const reload = () => {
    calls.reload();
    statistics.reload();
  };
  useVisibleInterval(reload, live ? reloadIntervalMs : null);
  useOnEnd(live, reload);
  const turns = useMemo(() => turnsOf(items, calls.data ?? [], callOfSeq), [items, calls.data, callOfSeq]);
  const showModel = new Set(calls.data?.flatMap(({ usage, model }) => (usage === undefined ? [] : model))).size > 1;
  const footer = (index: number): ReactNode => {
    const turn = turns.get(index);
    return turn && <TurnCost turn={turn} showModel={showModel} />;
  };
  return (
    <>
      <Conversation items={items} stream={stream} live={live} footer={footer} />
      {error !== null && <Problem what="The costs could not be loaded" error={error} onRetry={reload} />}
      {statistics.data !== null && <CallTotalsBar statistics={statistics.data} calls={calls.data ?? []} />}
    </>
  );
}
