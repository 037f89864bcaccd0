import { useState } from "react";
import type { EvalResult } from "../protocol/messages";
import { Badge } from "../ui/Badge";
import styles from "./AgentPanel.module.css";
import { Fold } from "./Fold";
import { oneLine } from "./text";
import { ruling, Verdict } from "./Verdict";

/** The verdict above the conversation, open until one folds it. */
export function VerdictFold({ result }: { result: EvalResult }) {
  const [open, setOpen] = useState(true);
  const { word, tone } = ruling(result);
  return (
    <div className={styles.verdict} role="status">
      <Fold
        name={open ? "Verdict" : <Badge tone={tone}>{word}</Badge>}
        gist={open ? "" : oneLine(result.case_id, 60)}
        look="prose"
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <Verdict result={result} />
      </Fold>
    </div>
  );
}
