import { useEffect, useState } from "react";
import { Conversation } from "../agentPanel/Conversation";
import { CellNameProvider } from "../agentPanel/cellName";
import { CommandsProvider } from "../commands/commands";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import { Notebook } from "../notebook/Notebook";
import { StoreProvider, useSelect } from "../store/store";
import styles from "./TimeTravel.module.css";
import { CellLink } from "./timeline/CellLink";
import { TravelBar } from "./timeline/TravelBar";
import { addressedSeq, useAddress } from "./timeline/useAddress";
import { useTravel } from "./timeline/useTravel";

interface Props {
  /** What code is highlighted as. */
  language: string;
  /** A trace that went on has ended. */
  onEnd: () => void;
}

/** The notebook and the conversation as they were at any moment of a trace. */
export function TimeTravel({ language, onEnd }: Props) {
  const travel = useTravel();
  useAddress(travel);
  useEffect(() => travel.begin(onEnd, addressedSeq()), [travel, onEnd]);
  return (
    <div className={styles.travel}>
      <TravelBar travel={travel} />
      <StoreProvider value={travel.store}>
        <Moment language={language} />
      </StoreProvider>
    </div>
  );
}

function Moment({ language }: { language: string }) {
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
            <Talk />
          </CellNameProvider>
        </section>
      </div>
    </NavigationProvider>
  );
}

function Talk() {
  const items = useSelect((state) => state.agent.conversation);
  const stream = useSelect((state) => state.agent.stream);
  return <Conversation items={items} stream={stream} />;
}
