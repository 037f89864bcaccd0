import { useState } from "react";
import { Link } from "wouter";
import type { EvalResult } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import styles from "./AgentPanel.module.css";
import { Fold } from "./Fold";
import { ruling } from "./outcome";
import { Verdict } from "./Verdict";

interface Props {
  result: EvalResult;
  /** It is of an attempt before the one that goes on: it is folded at first. */
  before: boolean;
  /** The page of its attempt; null: it is not known. */
  page: string | null;
}

/** The verdict above the conversation, open until one folds it, with the way to its attempt. */
export function VerdictFold({ result, before, page }: Props) {
  const [open, setOpen] = useState(!before);
  const { word, tone } = ruling(result);
  const title = before ? "Verdict before" : "Verdict";
  return (
    <div className={styles.verdict} role="status">
      <Fold
        name={open ? title : <Badge tone={tone}>{word}</Badge>}
        gist={open ? "" : `${before ? "Before: " : ""}${oneLine(result.case_id, 60)}`}
        look="prose"
        aside={
          <Link href={page ?? "/runs"} className={styles.runs}>
            {page === null ? "All runs" : "The attempt"}
          </Link>
        }
        open={open}
        onToggle={() => setOpen(!open)}
      >
        <Verdict result={result} />
      </Fold>
    </div>
  );
}
