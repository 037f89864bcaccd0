import { useEffect, useState } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { StoreProvider, useSelect } from "../../store/store";
import { Tabs } from "../../ui/Tabs";
import type { Travel } from "../timeline/travel";
import styles from "./Compare.module.css";
import { NotebookDiff } from "./NotebookDiff";
import { SharedTime } from "./SharedTime";

const tabs = [
  { id: "notebooks", label: "Notebooks" },
  { id: "conversations", label: "Conversations" },
];

/** The notebooks and conversations of two attempts, at the same time of each. */
export default function Traces({ travels }: { travels: readonly [Travel, Travel] }) {
  const [current, setCurrent] = useState("notebooks");
  const [a, b] = travels;
  useEffect(() => {
    a.begin(() => undefined);
    b.begin(() => undefined);
  }, [a, b]);
  return (
    <>
      <SharedTime travels={travels} />
      <Tabs label="What is compared" tabs={tabs} current={current} onChange={setCurrent}>
        {current === "notebooks" ? (
          <NotebookDiff stores={[a.store, b.store]} />
        ) : (
          <div className={styles.talks}>
            {travels.map((travel, side) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: there are two sides
              <section key={side} className={styles.talk} aria-label={`Conversation of ${side === 0 ? "A" : "B"}`}>
                <StoreProvider value={travel.store}>
                  <Talk />
                </StoreProvider>
              </section>
            ))}
          </div>
        )}
      </Tabs>
    </>
  );
}

function Talk() {
  const items = useSelect((state) => state.agent.conversation);
  return <Conversation items={items} stream={null} />;
}
