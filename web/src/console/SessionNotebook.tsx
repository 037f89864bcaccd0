import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { Notebook } from "../notebook/Notebook";
import { useSelect } from "../store/store";
import { isHeldElsewhere } from "./commandProblems";
import { PhaseView } from "./PhaseView";
import styles from "./PhaseView.module.css";

/** Renders the session's notebook; until it is loaded, the session's phase. A loaded notebook stays when the connection is lost. */
export function SessionNotebook({ live, session }: { live: SessionSnapshot; session: string }) {
  const known = useSelect((state) => state.notebook.seq > 0 || state.notebook.order.length > 0);
  const empty = useSelect((state) => state.notebook.order.length === 0);
  const { connection, phase, language } = live;
  if (connection.state !== "connected" && (!known || (empty && isHeldElsewhere(live)))) {
    const given = connection.code !== null && connection.state === "disconnected" && connection.retryAt === null;
    return given ? (
      <p className={styles.emptyNotebook}>Nothing to show.</p>
    ) : (
      <PhaseView session={session} phase={phase} />
    );
  }
  return <Notebook language={language} focus={new URLSearchParams(location.search).get("cell")} />;
}
