import { type LeftOut, leftOutWords } from "../data/leftOut";
import styles from "./parts.module.css";

/** Says which lines of a run cannot be read. of: whose they are, where that is not plain. */
export function Missing({ leftOut, of = "" }: { leftOut: LeftOut | null; of?: string }) {
  if (leftOut === null) return null;
  return (
    <p className={styles.missing} role="status">
      {of}
      {leftOutWords(leftOut)}
    </p>
  );
}
