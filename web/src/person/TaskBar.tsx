import { AttemptTimeLeft } from "../agentPanel/CaseView";
import { passedOrFailedLabel } from "../agentPanel/outcome";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import styles from "./TaskBar.module.css";
import type { PersonWork } from "./usePersonWork";

/** Shows the case, the time left or the verdict, and a button that opens the panel with the task, while that is closed. */
export function TaskBar({ work: { attempt, lastVerdict }, onOpen }: { work: PersonWork; onOpen: () => void }) {
  const verdict = lastVerdict === null || lastVerdict.isPrevious ? null : passedOrFailedLabel(lastVerdict.result);
  return (
    <section className={styles.bar} aria-label="Task">
      {attempt !== null && (
        <>
          <strong className={styles.case}>{oneLine(attempt.caseId, 60)}</strong>
          <AttemptTimeLeft attempt={attempt} />
        </>
      )}
      {verdict !== null && <Badge tone={verdict.tone}>{verdict.label}</Badge>}
      <Button className={styles.open ?? ""} onClick={onOpen}>
        {verdict === null ? "Task and answer" : "Verdict"}
      </Button>
    </section>
  );
}
