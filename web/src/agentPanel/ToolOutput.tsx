import { textOrJSON } from "../json/values";
import type { ToolResult } from "../store/state";
import { JsonText, LongText } from "./LongText";
import styles from "./ToolCall.module.css";
import { parseJSONContainer } from "./toolCalls";

/** Image types that cannot contain scripts. */
const safeImageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Shows the result of a tool call: text, indented JSON, or images. */
export function ToolOutput({ result }: { result: ToolResult }) {
  const title = result.isError ? "Error" : "Result";
  return (
    <div className={styles.part}>
      <p className={styles.title}>{title}</p>
      {result.content.length === 0 && <p className={styles.nothing}>Empty.</p>}
      {result.content.map((part, index) =>
        part.type === "image" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: results never change
          <ToolResultImage key={index} mime={part.mime} data={part.data} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: results never change
          <ToolResultText key={index} text={textOrJSON(part.text)} />
        ),
      )}
    </div>
  );
}

function ToolResultText({ text }: { text: string }) {
  const value = text.length < 1_000_000 ? parseJSONContainer(text) : undefined;
  return value === undefined ? <LongText text={text} /> : <JsonText value={value} />;
}

function ToolResultImage({ mime, data }: { mime: unknown; data: unknown }) {
  if (typeof mime !== "string" || typeof data !== "string" || !safeImageTypes.has(mime)) {
    return (
      <p className={styles.nothing}>This image cannot be shown (type {textOrJSON(mime).slice(0, 60) || "unknown"}).</p>
    );
  }
  return <img className={styles.image} src={`data:${mime};base64,${data}`} alt="Result of the tool" />;
}
