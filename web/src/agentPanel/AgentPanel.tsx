import { useState } from "react";
import { attemptOverText } from "../commands/access";
import { useSelect } from "../store/store";
import styles from "./AgentPanel.module.css";
import { AskBox } from "./AskBox";
import { AttachCase } from "./AttachCase";
import { CaseView } from "./CaseView";
import { CollapsibleVerdict } from "./CollapsibleVerdict";
import { Conversation } from "./Conversation";
import { CellNameLink, CellNameProvider } from "./cellName";
import { ProcessLog } from "./log/ProcessLog";
import { StatusLine } from "./StatusLine";
import { UsageMeter } from "./UsageMeter";
import { useAttempt } from "./useAttempt";
import { useLastVerdict } from "./useLastVerdict";

interface Props {
  session: string;
  connected: boolean;
  /** Why the server has refused the connection; "" if it has not. */
  refused?: string;
  /** Why the agent cannot be used; null if it can. */
  refusal: string | null;
  /** Whether cases can be attached. */
  canAttachCases: boolean;
}

/** The panel with the agent's status, current case, conversation, process logs, usage and message box. */
export function AgentPanel({ session, connected, refused = "", refusal, canAttachCases }: Props) {
  const verdict = useSelect((state) => state.verdict);
  const attempt = useAttempt(session, connected);
  const [isAttaching, setIsAttaching] = useState(false);
  const ended = verdict === null ? null : attemptOverText;
  return (
    <CellNameProvider value={CellNameLink}>
      <section className={styles.panel} aria-label="Agent">
        <StatusLine
          connected={connected}
          refusal={refusal}
          onAttach={canAttachCases && attempt === null ? () => setIsAttaching(true) : null}
        />
        {attempt !== null && <CaseView attempt={attempt} />}
        <NewestVerdict session={session} />
        <div className={styles.conversation}>
          <LiveConversation />
        </div>
        <ProcessLog session={session} attempt={attempt !== null} refused={refused} />
        <UsageMeter />
        <AskBox
          refusal={refusal ?? ended}
          note={attempt === null ? "" : "During an attempt this is an intervention."}
        />
        {isAttaching && <AttachCase session={session} onClose={() => setIsAttaching(false)} />}
      </section>
    </CellNameProvider>
  );
}

/** Shows the newest verdict of the session; collapses it when the next attempt begins. */
function NewestVerdict({ session }: { session: string }) {
  const last = useLastVerdict(session);
  return last && <CollapsibleVerdict key={last.isPrevious ? "before" : "now"} {...last} />;
}

/**
 * The conversation with the agent. It is a separate component, so that an arriving reply does not
 * re-render the whole panel.
 */
function LiveConversation() {
  const items = useSelect((state) => state.agent.conversation);
  const stream = useSelect((state) => state.agent.stream);
  const idle = useSelect((state) => state.agent.status === "done" || state.agent.status === "gone");
  return <Conversation items={items} stream={stream} live idle={idle} />;
}
