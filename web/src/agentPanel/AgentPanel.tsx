import { useState } from "react";
import { attemptOverText } from "../commands/access";
import { useSelect } from "../store/store";
import styles from "./AgentPanel.module.css";
import { AskBox } from "./AskBox";
import { AttachCase } from "./AttachCase";
import { CaseView } from "./CaseView";
import { Conversation } from "./Conversation";
import { CellNameProvider } from "./cellName";
import { LogFold } from "./log/LogFold";
import { NotebookCellName } from "./NotebookCellName";
import { StatusLine } from "./StatusLine";
import { UsageMeter } from "./UsageMeter";
import { useAttempt } from "./useAttempt";
import { useAttemptPage } from "./useAttemptPage";
import { VerdictFold } from "./VerdictFold";

interface Props {
  session: string;
  connected: boolean;
  /** Why the server has refused the connection; "": it has not. */
  refused?: string;
  /** Why nothing can be done with the agent; null: it can. */
  refusal: string | null;
  /** Cases may be attached. */
  cases: boolean;
}

/** All of the agent: its state, the case, the conversation, and what one may tell it. */
export function AgentPanel({ session, connected, refused = "", refusal, cases }: Props) {
  const verdict = useSelect((state) => state.verdict);
  const attempt = useAttempt(session, connected);
  const [attaching, setAttaching] = useState(false);
  const ended = verdict === null ? null : attemptOverText;
  return (
    <CellNameProvider value={NotebookCellName}>
      <section className={styles.panel} aria-label="Agent">
        <StatusLine
          connected={connected}
          refusal={refusal}
          onAttach={cases && attempt === null ? () => setAttaching(true) : null}
        />
        {attempt !== null && <CaseView attempt={attempt} />}
        <LastVerdict session={session} />
        <div className={styles.conversation}>
          <LiveConversation />
        </div>
        <LogFold session={session} attempt={attempt !== null} refused={refused} />
        <UsageMeter />
        <AskBox
          refusal={refusal ?? ended}
          note={attempt === null ? "" : "During an attempt this is an intervention."}
        />
        {attaching && <AttachCase session={session} onClose={() => setAttaching(false)} />}
      </section>
    </CellNameProvider>
  );
}

/** The newest verdict. It stays, folded, when the next attempt begins. */
function LastVerdict({ session }: { session: string }) {
  const verdict = useSelect((state) => state.verdict);
  const [last, setLast] = useState(verdict);
  if (verdict !== null && verdict !== last) setLast(verdict);
  const page = useAttemptPage(session, verdict !== null);
  if (last === null) return null;
  return <VerdictFold key={verdict === null ? "before" : "now"} result={last} before={verdict === null} page={page} />;
}

/** The conversation by itself: it is drawn again for each piece of a reply, the panel is not. */
function LiveConversation() {
  const items = useSelect((state) => state.agent.conversation);
  const stream = useSelect((state) => state.agent.stream);
  const idle = useSelect((state) => state.agent.status === "done" || state.agent.status === "gone");
  return <Conversation items={items} stream={stream} live idle={idle} />;
}
