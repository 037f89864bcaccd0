import { Suspense } from "react";
import type { AttemptLine } from "../../protocol/api.gen";
import { LoadErrorBoundary } from "../../ui/LoadErrorBoundary";
import { lazyPart } from "../../ui/lazyPart";
import { Tabs } from "../../ui/Tabs";
import { useOnEnd } from "../data/useOnEnd";
import { useParameter } from "../data/useParameter";
import { useTaskAndLanguage } from "../data/useTaskAndLanguage";
import { MutedText } from "../parts/MutedText";
import { useTimeline } from "../timeline/useTimeline";
import styles from "./AttemptTabs.module.css";
import { Files } from "./Files";
import { Overview } from "./Overview";
import { Stderr } from "./Stderr";

const LazyTimelineView = lazyPart(async () => (await import("../TimelineView")).TimelineView);
const LazyMessagesView = lazyPart(async () => (await import("../../messages/MessagesView")).default);
const LazyConversation = lazyPart(async () => (await import("./WholeConversation")).default);

const attemptTabs = [
  { id: "overview", label: "Overview" },
  { id: "notebook", label: "Notebook" },
  { id: "conversation", label: "Conversation" },
  { id: "flow", label: "Flow" },
  { id: "files", label: "Files" },
  { id: "stderr", label: "Stderr" },
];

interface Props {
  line: AttemptLine;
  /** Called when a live trace has ended. */
  onEnd: () => void;
}

/**
 * The tabs of an attempt's page. The content of a tab is loaded when it is opened. The address
 * names the open tab.
 */
export function AttemptTabs({ line, onEnd }: Props) {
  const [wanted, setWanted] = useParameter("tab");
  const [, setMoment] = useParameter("seq");
  const openNotebook = () => {
    setMoment(""); // shows the end of the trace
    setWanted("notebook");
  };
  const current = attemptTabs.some((tab) => tab.id === wanted) ? wanted : "overview";
  return (
    <div className={styles.tabs}>
      <Tabs
        label="Parts of the attempt"
        tabs={attemptTabs}
        current={current}
        onChange={(id) => setWanted(id === "overview" ? "" : id)}
      >
        <div className={styles.panel}>
          <LoadErrorBoundary key={current}>
            <Suspense fallback={<MutedText>Loading…</MutedText>}>
              <TabPanel tab={current} line={line} onEnd={onEnd} onNotebook={openNotebook} />
            </Suspense>
          </LoadErrorBoundary>
        </div>
      </Tabs>
    </div>
  );
}

function TabPanel({ tab, line, onEnd, onNotebook }: Props & { tab: string; onNotebook: () => void }) {
  const timeline = useTimeline();
  const { source } = timeline;
  const beginning = useTaskAndLanguage(source.base);
  const running = line.state === "running";
  useOnEnd(running, beginning.reload);
  switch (tab) {
    case "notebook":
      return <LazyTimelineView line={line} language={beginning.data?.language ?? "python"} onEnd={onEnd} />;
    case "conversation":
      return <LazyConversation line={line} onEnd={onEnd} />;
    case "flow":
      return <LazyMessagesView source={source} onEnd={onEnd} />;
    case "files":
      return (
        <Files
          base={source.base}
          line={line}
          onNotebook={() => {
            timeline.goTo("end");
            onNotebook();
          }}
        />
      );
    case "stderr":
      return <Stderr base={source.base} running={running} />;
    default:
      return <Overview base={source.base} line={line} beginning={beginning} />;
  }
}
