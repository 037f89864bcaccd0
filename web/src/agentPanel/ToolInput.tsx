import { anyObject, read } from "../json/schema";
import { JsonText, LongText } from "./LongText";
import styles from "./ToolCall.module.css";
import { codeOfToolInput } from "./toolCalls";

/** Shows the input of a tool call: its code as highlighted code, the other fields as JSON. */
export function ToolInput({ input }: { input: unknown }) {
  const found = codeOfToolInput(input);
  if (found === null)
    return (
      <ToolInputSection title="Input">
        <JsonText value={input} />
      </ToolInputSection>
    );
  const rest = Object.fromEntries(Object.entries(read(anyObject, input)).filter(([name]) => name !== found.field));
  return (
    <ToolInputSection title="Input">
      <LongText text={found.code} />
      {Object.keys(rest).length > 0 && <JsonText value={rest} />}
    </ToolInputSection>
  );
}

function ToolInputSection({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div className={styles.part}>
      <p className={styles.title}>{title}</p>
      {children}
    </div>
  );
}
