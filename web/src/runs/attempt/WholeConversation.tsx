import { type ReactNode, useEffect, useMemo } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import type { AttemptLine } from "../../protocol/api.gen";
import type { ConversationItem, StreamBlock } from "../../store/state";
import { useOnEnd } from "../data/useOnEnd";
import { useVisibleInterval } from "../data/useVisibleInterval";
import { MutedText } from "../parts/MutedText";
import { useTimeline, useTimelineSelector } from "../timeline/useTimeline";
import styles from "./AttemptTabs.module.css";
import { CallTotalsBar } from "./CallTotalsBar";
import { withErrors } from "./callConversation";
import { loadModelCalls, turnsOf } from "./modelCalls";
import { useStatistics } from "./statistics";
import { TurnCost } from "./TurnCost";
import { useAgentAtEnd, useCallConversation } from "./useCallConversation";

/** How often the costs of a running attempt are loaded again, in milliseconds. */
const reloadIntervalMs = 3000;

interface Props {
  line: AttemptLine;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/**
 * The complete conversation of an attempt, updated while the attempt runs. That of an agent that
 * has sent none is the one from its calls of models, which there is when the attempt has ended.
 */
export default function WholeConversation({ line, onEnd }: Props) {
  const timeline = useTimeline();
  const loaded = useTimelineSelector((moment) => moment.isLoaded);
  const problem = useTimelineSelector((moment) => moment.problem);
  useEffect(() => timeline.begin(onEnd), [timeline, onEnd]);
  const agent = useAgentAtEnd();
  const stored = useCallConversation(line);
  const items = useMemo(() => withErrors(stored.data?.items ?? [], agent.conversation), [stored.data, agent]);
  if (!loaded && problem !== null) return <p role="alert">{problem}</p>;
  if (stored.error) {
    return <Problem what="The conversation could not be loaded" error={stored.error} onRetry={stored.reload} />;
  }
  if (!loaded || stored.loading) return <MutedText>Loading…</MutedText>;
  if (line.state !== "running" && items.length === 0) return <MutedText>{noConversationText(line)}</MutedText>;
  return (
    <div className={styles.conversation}>
      <PricedConversation
        base={timeline.source.base}
        items={items}
        stream={agent.stream}
        live={line.state === "running"}
        callOfSeq={stored.data?.callOfSeq}
      />
    </div>
  );
}

/** Returns why an attempt that is over has no conversation. */
function noConversationText({ state, outcome }: AttemptLine): string {
  if (state === "interrupted") return "None: the run was interrupted.";
  if (outcome === "setup_error") return "None: the attempt ended before the agent got its task.";
  return "None: the agent has sent no message and called no model.";
}

interface PricedProps {
  base: string;
  items: readonly ConversationItem[];
  stream: readonly StreamBlock[] | null;
  live: boolean;
  /** See turnsOf. */
  callOfSeq: ReadonlyMap<number, number> | undefined;
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
      <Conversation items={items} stream={stream} live={live} idle={!live} footer={footer} />
      {error !== null && <Problem what="The costs could not be loaded" error={error} onRetry={reload} />}
      {statistics.data !== null && <CallTotalsBar statistics={statistics.data} calls={calls.data ?? []} />}
    </>
  );
}
