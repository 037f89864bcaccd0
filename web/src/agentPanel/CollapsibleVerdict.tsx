import { useState } from "react";
import { Link } from "wouter";
import type { EvalResult } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import styles from "./AgentPanel.module.css";
import { Collapsible } from "./Collapsible";
import { passedOrFailedLabel } from "./outcome";
import { Verdict } from "./Verdict";

interface Props {
  result: EvalResult;
  /** Whether it belongs to the previous attempt; then it is collapsed at first. */
  isPrevious: boolean;
  /** The path of the attempt's page; null if unknown. */
  attemptPage: string | null;
  /** Who did the agent's work; "" for an agent. */
  person?: string;
}

/** The verdict above the conversation, with a link to its attempt or to all runs. */
export function CollapsibleVerdict({ result, isPrevious, attemptPage, person = "" }: Props) {
  const [open, setOpen] = useState(!isPrevious);
  const { label, tone } = passedOrFailedLabel(result);
  const title = isPrevious ? "Previous verdict" : "Verdict";
  return (
    <div className={styles.verdict} role="status">
      <Collapsible
        name={open ? title : <Badge tone={tone}>{label}</Badge>}
        summary={open ? "" : `${isPrevious ? "Previous: " : ""}${oneLine(result.case_id, 60)}`}
        summaryStyle="prose"
        trailing={
          <Link href={attemptPage ?? "/runs"} className={styles.runs}>
            {attemptPage === null ? "All runs" : "Open attempt"}
          </Link>
        }
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <Verdict result={result} person={person} />
      </Collapsible>
    </div>
  );
}
