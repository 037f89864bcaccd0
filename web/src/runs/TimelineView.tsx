import { useEffect, useState } from "react";
import { Conversation } from "../agentPanel/Conversation";
import { CellNameProvider } from "../agentPanel/cellName";
import { CommandsProvider } from "../commands/commands";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import { Notebook } from "../notebook/Notebook";
import { StoreProvider, useSelect } from "../store/store";
import styles from "./TimelineView.module.css";
import { CellLink } from "./timeline/CellLink";
import { TimelineBar } from "./timeline/TimelineBar";
import { useTimeline } from "./timeline/useTimeline";
import { seqInAddress, useTimelineAddress } from "./timeline/useTimelineAddress";

interface Props {
  /** Language for syntax highlighting. */
  language: string;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/** The notebook and the conversation after any entry of a trace. */
export function TimelineView({ language, onEnd }: Props) {
  const timeline = useTimeline();
  useTimelineAddress(timeline);
  useEffect(() => timeline.begin(onEnd, seqInAddress()), [timeline, onEnd]);
  return (
    <div className={styles.timeline}>
      <TimelineBar timeline={timeline} />
      <StoreProvider value={timeline.store}>
        <NotebookAndConversation language={language} />
      </StoreProvider>
    </div>
  );
}

function NotebookAndConversation({ language }: { language: string }) {
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
            <ConversationAtEntry />
          </CellNameProvider>
        </section>
      </div>
    </NavigationProvider>
  );
}

function ConversationAtEntry() {
  const items = useSelect((state) => state.agent.conversation);
  const stream = useSelect((state) => state.agent.stream);
  return <Conversation items={items} stream={stream} />;
}
