import { textOrJSON } from "../json/values";
import type { StreamBlock } from "../store/state";
import { showInvisible } from "../text/displayText";
import { toolName } from "./gist";
import { partialCode } from "./partialCode";
import styles from "./StreamRow.module.css";

/** How much of the end of what arrives is shown: all of it comes with the message. */
const tail = 12_000;
const tailOfTool = 1200;

/** A block of the reply that is arriving. A caret stands at the end of the last one. */
export function StreamRow({ block, last }: { block: StreamBlock; last: boolean }) {
  const text = textOrJSON(block.text);
  const caret = last && <span className={styles.caret} aria-hidden="true" />;
  if (block.type === "text") {
    return (
      <div className={styles.text}>
        {ending(text.trimStart(), tail)}
        {caret}
      </div>
    );
  }
  const name = block.type === "thinking" ? "Thinking" : toolName(block.name);
  const written = block.type === "thinking" ? text : partialCode(text);
  return (
    <div className={block.type === "thinking" ? styles.thinking : styles.tool}>
      <div className={styles.name}>{name}</div>
      <pre className={styles.written}>
        <span>
          {ending(written, tailOfTool)}
          {caret}
        </span>
      </pre>
    </div>
  );
}

function ending(text: string, limit: number): string {
  return showInvisible(text.length > limit ? `…${text.slice(-limit)}` : text);
}
