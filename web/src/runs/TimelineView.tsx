import { useEffect, useMemo, useState } from "react";
import { Conversation } from "../agentPanel/Conversation";
import { CellNameProvider } from "../agentPanel/cellName";
import { CommandsProvider } from "../commands/commands";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import { Notebook } from "../notebook/Notebook";
import type { AttemptLine } from "../protocol/api.gen";
import { StoreProvider, useSelect } from "../store/store";
import { conversationOf, linesUntil, withErrors } from "./attempt/callConversation";
import { useCallConversation } from "./attempt/useCallConversation";
import styles from "./TimelineView.module.css";
import { CellLink } from "./timeline/CellLink";
import { TimelineBar } from "./timeline/TimelineBar";
import { isAtEndOfTrace, useTimeline, useTimelineSelector } from "./timeline/useTimeline";
import { seqInAddress, useTimelineAddress } from "./timeline/useTimelineAddress";

interface Props {
  line: AttemptLine;
  /** Language for syntax highlighting. */
  language: string;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/** The notebook and the conversation after any entry of a trace. */
export function TimelineView({ line, language, onEnd }: Props) {
  const timeline = useTimeline();
  useTimelineAddress(timeline);
  useEffect(() => timeline.begin(onEnd, seqInAddress()), [timeline, onEnd]);
  return (
    <div className={styles.timeline}>
      <TimelineBar timeline={timeline} />
      <StoreProvider value={timeline.store}>
        <NotebookAndConversation line={line} language={language} />
      </StoreProvider>
    </div>
  );
}

function NotebookAndConversation({ line, language }: Omit<Props, "onEnd">) {
  const [navigation] = useState(createNavigation);
  return (
    <NavigationProvider value={navigation}>
      <div className={styles.panes}>
        <section className={styles.pane} aria-label="Notebook">
          <CommandsProvider value={null}>
            <Notebook language={language} />
          </CommandsProvider>
        </section>
        <section className={styles.pane} aria-label="Conversation up to here">
          <CellNameProvider value={CellLink}>
            <ConversationAtEntry line={line} />
          </CellNameProvider>
        </section>
      </div>
    </NavigationProvider>
  );
}

/**
 * The conversation up to the timeline's entry: what the agent has sent, or else the lines of the
 * stored conversation that had come by then; after the last entry, all lines.
 */
function ConversationAtEntry({ line }: { line: AttemptLine }) {
  const sent = useSelect((state) => state.agent.conversation);
  const stream = useSelect((state) => state.agent.stream);
  const stored = useCallConversation(line).data;
  const isAtEnd = useTimelineSelector(isAtEndOfTrace);
  const wallMs = useTimelineSelector((moment) => moment.wallMs);
  const isWhole = isAtEnd && stored !== null;
  const lines = stored === null || wallMs === null ? [] : linesUntil(stored, wallMs);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the number of lines says which ones they are
  const said = useMemo(() => conversationOf(lines), [stored, lines.length]);
  const items = useMemo(() => withErrors(isWhole ? stored.items : said, sent), [isWhole, stored, said, sent]);
  return <Conversation items={items} stream={stream} idle={isAtEnd} />;
}
