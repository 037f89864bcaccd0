import { useEffect, useMemo } from "react";
import { Conversation } from "../../agentPanel/Conversation";
import { Quiet } from "../parts/Quiet";
import { useMomentOf, useTravel } from "../timeline/useTravel";
import styles from "./AttemptTabs.module.css";

/** All that was said in an attempt, and what is said while it goes on. */
export default function WholeConversation({ onEnd }: { onEnd: () => void }) {
  const travel = useTravel();
  const heard = useMomentOf((moment) => moment.heard);
  const loaded = useMomentOf((moment) => moment.loaded);
  const problem = useMomentOf((moment) => moment.problem);
  useEffect(() => travel.begin(onEnd), [travel, onEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: heard says that the tape has grown
  const agent = useMemo(() => travel.tape.at(Number.POSITIVE_INFINITY), [travel, heard]);
  if (!loaded && problem !== null) return <p role="alert">{problem}</p>;
  if (!loaded) return <Quiet>Loading…</Quiet>;
  return (
    <div className={styles.conversation}>
      <Conversation items={agent.conversation} stream={agent.stream} live={travel.source.watch !== null} />
    </div>
  );
}
