import { useEffect, useState } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { StoreProvider, useSelect } from "../../store/store";
import { Tabs } from "../../ui/Tabs";
import type { Timeline } from "../timeline/timeline";
import styles from "./Compare.module.css";
import { NotebookDiff } from "./NotebookDiff";
import { SharedTimeSlider } from "./SharedTimeSlider";

const comparisonTabs = [
  { id: "notebooks", label: "Notebooks" },
  { id: "conversations", label: "Conversations" },
];

/** The notebooks and conversations of two attempts at the same time after the start of their traces. */
export default function TraceComparison({ timelines }: { timelines: readonly [Timeline, Timeline] }) {
  const [current, setCurrent] = useState("notebooks");
  const [a, b] = timelines;
  useEffect(() => {
    a.begin(() => undefined);
    b.begin(() => undefined);
  }, [a, b]);
  return (
    <>
      <SharedTimeSlider timelines={timelines} />
      <Tabs label="What is compared" tabs={comparisonTabs} current={current} onChange={setCurrent}>
        {current === "notebooks" ? (
          <NotebookDiff stores={[a.store, b.store]} />
        ) : (
          <div className={styles.talks}>
            {timelines.map((timeline, side) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: there are two sides
              <section key={side} className={styles.talk} aria-label={`Conversation of ${side === 0 ? "A" : "B"}`}>
                <StoreProvider value={timeline.store}>
                  <ConversationAtTime />
                </StoreProvider>
              </section>
            ))}
          </div>
        )}
      </Tabs>
    </>
  );
}

function ConversationAtTime() {
  const items = useSelect((state) => state.agent.conversation);
  return <Conversation items={items} stream={null} />;
}
