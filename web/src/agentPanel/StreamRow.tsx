import { textOrJSON } from "../json/values";
import type { StreamBlock } from "../store/state";
import { showInvisible } from "../text/displayText";
import styles from "./StreamRow.module.css";
import { codeOfPartialInput } from "./toolCalls";
import { toolName } from "./toolName";

/**
 * Number of characters from the end of an arriving block that are shown. The complete text is shown
 * when the message is complete.
 */
const maxTextTailChars = 12_000;
const maxToolTailChars = 1200;

/** One block of the agent's reply that is being received. The last block ends with a caret. */
export function StreamRow({ block, last }: { block: StreamBlock; last: boolean }) {
  const text = textOrJSON(block.text);
  const caret = last && <span className={styles.caret} aria-hidden="true" />;
  if (block.type === "text") {
    return (
      <div className={styles.text}>
        {tailOf(text.trimStart(), maxTextTailChars)}
        {caret}
      </div>
    );
  }
  const name = block.type === "thinking" ? "Thinking" : toolName(block.name);
  const shownText = block.type === "thinking" ? text : codeOfPartialInput(text);
  return (
    <div className={block.type === "thinking" ? styles.thinking : styles.tool}>
      <div className={styles.name}>{name}</div>
      <pre className={styles.written}>
        <span>
          {tailOf(shownText, maxToolTailChars)}
          {caret}
        </span>
      </pre>
    </div>
  );
}

function tailOf(text: string, maxChars: number): string {
  return showInvisible(text.length > maxChars ? `…${text.slice(-maxChars)}` : text);
}
