import { textOrJSON } from "../json/values";
import type { ToolResult } from "../store/state";
import { parsed } from "./gist";
import { JsonText } from "./JsonText";
import { LongText } from "./LongText";
import styles from "./ToolCall.module.css";

/** Images that a browser shows without running anything. */
const shown = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** What a tool gave: texts, JSON as JSON, images. */
export function ToolOutput({ result }: { result: ToolResult }) {
  const title = result.isError ? "Failed with" : "Result";
  return (
    <div className={styles.part}>
      <p className={styles.title}>{title}</p>
      {result.content.length === 0 && <p className={styles.nothing}>Nothing.</p>}
      {result.content.map((part, index) =>
        part.type === "image" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a result never changes
          <Picture key={index} mime={part.mime} data={part.data} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a result never changes
          <Text key={index} text={textOrJSON(part.text)} />
        ),
      )}
    </div>
  );
}

function Text({ text }: { text: string }) {
  const value = text.length < 1_000_000 ? parsed(text) : undefined;
  return value === undefined ? <LongText text={text} /> : <JsonText value={value} />;
}

function Picture({ mime, data }: { mime: unknown; data: unknown }) {
  if (typeof mime !== "string" || typeof data !== "string" || !shown.has(mime)) {
    return (
      <p className={styles.nothing}>An image that cannot be shown ({textOrJSON(mime).slice(0, 60) || "of no type"}).</p>
    );
  }
  return <img className={styles.image} src={`data:${mime};base64,${data}`} alt="Result of the tool" />;
}
