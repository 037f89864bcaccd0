import Check from "lucide-react/icons/check";
import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import X from "lucide-react/icons/x";
import { formatScore } from "../format/format";
import { anyObject, number, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { JsonTree } from "../outputs/JsonTree";
import type { GraderResult } from "../protocol/messages";
import { oneLine, showInvisible } from "../text/displayText";
import styles from "./Verdict.module.css";

const maxReasoningChars = 20_000;

/** One grader's result: pass or fail, score, reasoning and metrics, or its error. */
export function GraderRow({ grader }: { grader: GraderResult }) {
  const { type, passed, score, reasoning, metrics, error } = read(anyObject, grader) as Partial<GraderResult>;
  const metricValues = read(anyObject, metrics);
  const errorMessage = graderErrorText(error);
  const points = number.parse(score) ?? null;
  const reasoningText = textOrJSON(reasoning);
  return (
    <li className={styles.grader}>
      <div className={styles.graderHead}>
        {errorMessage !== "" ? (
          <CircleAlert className={styles.warn} role="img" aria-label="grader error" />
        ) : passed === true ? (
          <Check className={styles.good} role="img" aria-label="passed" />
        ) : (
          <X className={styles.bad} role="img" aria-label="failed" />
        )}
        <code>{oneLine(textOrJSON(type), 60) || "grader"}</code>
        {points !== null && <span className={styles.points}>score {formatScore(points)}</span>}
      </div>
      {errorMessage !== "" && <p className={styles.error}>Grader error: {errorMessage}</p>}
      {reasoningText !== "" && (
        <pre className={styles.reasoning}>{showInvisible(reasoningText.slice(0, maxReasoningChars))}</pre>
      )}
      {Object.keys(metricValues).length > 0 && (
        <details className={styles.metrics}>
          <summary>Metrics</summary>
          <JsonTree value={metricValues} />
        </details>
      )}
    </li>
  );
}

/** Returns the error, {kind, text} or a string, as one line; "" if there is none. */
function graderErrorText(error: unknown): string {
  if (error === null || error === undefined) return "";
  const { kind, text } = read(anyObject, error);
  if (text === undefined && kind === undefined) return oneLine(textOrJSON(error), 600);
  return oneLine([textOrJSON(kind), textOrJSON(text)].filter((part) => part !== "").join(": "), 600);
}
