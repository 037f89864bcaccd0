import { type UnreadableLines, unreadableLinesText } from "../data/unreadableLines";
import styles from "./parts.module.css";

/**
 * A notice about unreadable lines of a run's attempts.jsonl. of is an optional text before it that
 * names the run.
 */
export function UnreadableLinesNotice({ leftOut, of = "" }: { leftOut: UnreadableLines | null; of?: string }) {
  if (leftOut === null) return null;
  return (
    <p className={styles.missing} role="status">
      {of}
      {unreadableLinesText(leftOut)}
    </p>
  );
}
