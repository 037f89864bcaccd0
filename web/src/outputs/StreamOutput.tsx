import { CellNames } from "./CellNames";
import styles from "./Outputs.module.css";
import { TerminalText } from "./terminal/TerminalText";
import { WordsProvider } from "./terminal/words";

/** What was printed to one of the two streams. Warnings, in the second, name cells as tracebacks do. */
export function StreamOutput({ name, text }: { name: string; text: string }) {
  if (name !== "stderr") return <TerminalText text={text} label="Standard output" />;
  return (
    <div className={styles.stderr}>
      <span className={styles.tag}>stderr</span>
      <WordsProvider value={CellNames}>
        <TerminalText text={text} label="Standard error" />
      </WordsProvider>
    </div>
  );
}
