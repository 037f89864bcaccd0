import styles from "./Outputs.module.css";
import { TerminalText } from "./terminal/TerminalText";

/** What was printed to one of the two streams. */
export function StreamOutput({ name, text }: { name: string; text: string }) {
  if (name !== "stderr") return <TerminalText text={text} label="Standard output" />;
  return (
    <div className={styles.stderr}>
      <span className={styles.tag}>stderr</span>
      <TerminalText text={text} label="Standard error" />
    </div>
  );
}
