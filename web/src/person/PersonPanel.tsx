import { useState } from "react";
import { AttachCase } from "../agentPanel/AttachCase";
import type { CurrentAttempt } from "../agentPanel/attempt";
import { AttemptTimeLeft } from "../agentPanel/CaseView";
import { CollapsibleVerdict } from "../agentPanel/CollapsibleVerdict";
import { LongText } from "../agentPanel/LongText";
import { ProcessLog } from "../agentPanel/log/ProcessLog";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import { Button } from "../ui/Button";
import { AnswerForm } from "./AnswerForm";
import styles from "./PersonPanel.module.css";
import { attemptKey } from "./useAnswerDraft";
import type { PersonWork } from "./usePersonWork";

interface Props {
  session: string;
  work: PersonWork;
  /** Why the server has refused the connection; "" if it has not. */
  refused: string;
  /** Why nothing can be sent; null if it can. */
  refusal: string | null;
  /** Whether cases can be attached. */
  canAttachCases: boolean;
}

/** The panel of a person who does the agent's work: the task with the time left, and a form for the answer; at the end the verdict. */
export function PersonPanel({ session, work, refused, refusal, canAttachCases }: Props) {
  const { attempt, phase, isDone } = work;
  return (
    <section className={styles.panel} aria-label="Task">
      {phase === "waiting" && <p className={styles.note}>The task is shown when you press Start.</p>}
      {phase === "working" && attempt !== null && (
        <>
          <Task attempt={attempt} />
          {isDone ? (
            <p className={styles.note} role="status">
              Your work on this case has ended. It is being graded…
            </p>
          ) : (
            <>
              <LastRefusal />
              <AnswerForm key={attemptKey(attempt)} session={session} attempt={attempt} refusal={refusal} />
            </>
          )}
        </>
      )}
      {phase === "over" && <Over session={session} work={work} canAttachCases={canAttachCases} />}
      <ProcessLog session={session} attempt={phase !== "over"} refused={refused} />
    </section>
  );
}

/** Why the last answer was refused, until the next one is sent. */
function LastRefusal() {
  const last = useSelect(({ agent }) => agent.conversation.at(-1));
  if (last?.kind !== "error") return null;
  return (
    <p className={styles.error} role="alert">
      {oneLine(last.text, 500)}
    </p>
  );
}

/** The task with the time left and the case's files. */
function Task({ attempt: { caseId, task, files }, attempt }: { attempt: CurrentAttempt }) {
  return (
    <div className={styles.case}>
      <header className={styles.head}>
        <h2 className={styles.title}>{oneLine(caseId, 80)}</h2>
        <AttemptTimeLeft attempt={attempt} />
      </header>
      <LongText text={task.trim()} className={styles.task} />
      {files.length > 0 && (
        <div className={styles.files}>
          <h3>Files in the notebook's folder</h3>
          <ul>
            {files.map((file) => (
              <li key={file}>
                <code>{oneLine(file, 200)}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** The verdict of an attempt that has ended, and what can follow. */
function Over({ session, work, canAttachCases }: Pick<Props, "session" | "work" | "canAttachCases">) {
  const [isAttaching, setIsAttaching] = useState(false);
  const { lastVerdict, person } = work;
  return (
    <div className={styles.over}>
      {lastVerdict !== null && <CollapsibleVerdict {...lastVerdict} person={person} />}
      <p className={styles.note}>If there is another case, it appears here.</p>
      {canAttachCases && <Button onClick={() => setIsAttaching(true)}>Attach a case…</Button>}
      {isAttaching && <AttachCase session={session} onClose={() => setIsAttaching(false)} />}
    </div>
  );
}
