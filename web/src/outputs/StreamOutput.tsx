import styles from "./Outputs.module.css";
import { TextWithCellLinks } from "./TextWithCellLinks";
import { TerminalText } from "./terminal/TerminalText";
import { TextRendererProvider } from "./terminal/textRenderer";

/** Shows text printed to stdout or stderr. In stderr, cell names such as those of warnings become links. */
export function StreamOutput({ name, text }: { name: string; text: string }) {
  if (name !== "stderr") return <TerminalText text={text} label="Standard output" />;
  return (
    <div className={styles.stderr}>
      <span className={styles.streamLabel}>stderr</span>
      <TextRendererProvider value={TextWithCellLinks}>
        <TerminalText text={text} label="Standard error" />
      </TextRendererProvider>
    </div>
  );
}
