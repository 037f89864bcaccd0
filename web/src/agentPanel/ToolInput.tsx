import { anyObject, read } from "../json/schema";
import { JsonText, LongText } from "./LongText";
import styles from "./ToolCall.module.css";
import { codeOf } from "./toolCalls";

/** Shows the input of a tool call: its code as highlighted code, the other fields as JSON. */
export function ToolInput({ input }: { input: unknown }) {
  const found = codeOf(input);
  if (found === null)
    return (
      <InputSection title="Input">
        <JsonText value={input} />
      </InputSection>
    );
  const rest = Object.fromEntries(Object.entries(read(anyObject, input)).filter(([name]) => name !== found.field));
  return (
    <InputSection title="Input">
      <LongText text={found.code} />
      {Object.keys(rest).length > 0 && <JsonText value={rest} />}
    </InputSection>
  );
}

function InputSection({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div className={styles.part}>
      <p className={styles.title}>{title}</p>
      {children}
    </div>
  );
}
