import { formatDuration, formatScore } from "../format/format";
import { number } from "../json/schema";
import { textOrJSON } from "../json/values";
import { JsonTree } from "../outputs/JsonTree";
import type { EvalResult } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { Badge } from "../ui/Badge";
import { GraderRow } from "./GraderRow";
import { outcomeText, passedOrFailedLabel } from "./outcome";
import styles from "./Verdict.module.css";

interface Props {
  result: EvalResult;
  /** Who did the agent's work; "" for an agent. */
  person?: string;
}

/** Shows an attempt's outcome, score, grader results and answer. */
export function Verdict({ result, person = "" }: Props) {
  const graders = Array.isArray(result.graders) ? result.graders : [];
  const { label, tone } = passedOrFailedLabel(result);
  const score = number.parse(result.score) ?? null;
  const durationMs = number.parse(result.duration_ms) ?? null;
  const detail = textOrJSON(result.outcome_detail);
  return (
    <section className={styles.verdict} aria-label="Verdict">
      <header className={styles.head}>
        <Badge tone={tone}>{label}</Badge>
        {score !== null && <span className={styles.score}>score {formatScore(score)}</span>}
        <span className={styles.case}>{oneLine(textOrJSON(result.case_id), 80)}</span>
        <span className={styles.time}>{durationMs !== null && formatDuration(durationMs)}</span>
      </header>
      <p className={styles.outcome}>
        {outcomeText(textOrJSON(result.outcome), person)}
        {detail !== "" && <span className={styles.detail}> {oneLine(detail, 400)}</span>}
      </p>
      {graders.length > 0 && (
        <ol className={styles.graders} aria-label="Graders">
          {graders.map((grader, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: verdicts never change
            <GraderRow key={index} grader={grader} />
          ))}
        </ol>
      )}
      <div>
        <p className={styles.title}>Answer</p>
        {result.answer === null || result.answer === undefined ? (
          "None: nothing was submitted, or what was submitted is no JSON."
        ) : (
          <JsonTree value={result.answer} />
        )}
      </div>
    </section>
  );
}
