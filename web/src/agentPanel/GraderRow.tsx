import { Check, CircleAlert, X } from "lucide-react";
import { score as written } from "../format/format";
import { anyObject, number, read } from "../json/schema";
import { textOrJSON } from "../json/values";
import { JsonTree } from "../outputs/JsonTree";
import type { GraderResult } from "../protocol/messages";
import { oneLine, showInvisible } from "../text/displayText";
import styles from "./Verdict.module.css";

const longestReasoning = 20_000;

/** What one grader said. */
export function GraderRow({ grader }: { grader: GraderResult }) {
  const { type, passed, score, reasoning, metrics, error } = read(anyObject, grader) as Partial<GraderResult>;
  const measured = read(anyObject, metrics);
  const failure = errorText(error);
  const points = number.parse(score) ?? null;
  const said = textOrJSON(reasoning);
  return (
    <li className={styles.grader}>
      <div className={styles.graderHead}>
        {failure !== "" ? (
          <CircleAlert className={styles.warn} role="img" aria-label="no verdict" />
        ) : passed === true ? (
          <Check className={styles.good} role="img" aria-label="passed" />
        ) : (
          <X className={styles.bad} role="img" aria-label="failed" />
        )}
        <code>{oneLine(textOrJSON(type), 60) || "grader"}</code>
        {points !== null && <span className={styles.points}>score {written(points)}</span>}
      </div>
      {failure !== "" && <p className={styles.error}>No verdict: {failure}</p>}
      {said !== "" && <pre className={styles.reasoning}>{showInvisible(said.slice(0, longestReasoning))}</pre>}
      {Object.keys(measured).length > 0 && (
        <details className={styles.metrics}>
          <summary>Metrics</summary>
          <JsonTree value={measured} />
        </details>
      )}
    </li>
  );
}

/** An error is {kind, text}, or a text. */
function errorText(error: unknown): string {
  if (error === null || error === undefined) return "";
  const { kind, text } = read(anyObject, error);
  if (text === undefined && kind === undefined) return oneLine(textOrJSON(error), 600);
  return oneLine([textOrJSON(kind), textOrJSON(text)].filter((part) => part !== "").join(": "), 600);
}
