import { Check, CircleDashed, X } from "lucide-react";
import { textOrJSON } from "../json/values";
import type { Item, ToolResult } from "../store/state";
import { useCellName } from "./cellName";
import { Fold } from "./Fold";
import { cellsOf, gistOf, isSubmission, runFailed, toolName } from "./gist";
import styles from "./ToolCall.module.css";
import { ToolInput } from "./ToolInput";
import { ToolOutput } from "./ToolOutput";

export type Call = Extract<Item, { kind: "tool" }>;

interface Props {
  call: Call;
  /** Its answer may still come, where there is none. */
  awaited: boolean;
  open: boolean;
  onToggle: () => void;
}

/** A call of a tool in a line: what, about what, how it went; opened, all that went in and came out. */
export function ToolCall({ call, awaited, open, onToggle }: Props) {
  const CellName = useCellName();
  const said = firstText(call.result);
  const aside = (
    <span className={styles.aside}>
      {cellsOf(call.input, said).map((id) => (
        <CellName key={id} id={id} />
      ))}
      <Ending call={call} said={said} awaited={awaited} />
    </span>
  );
  return (
    <Fold name={toolName(call.name)} gist={gistOf(call.input)} aside={aside} open={open} onToggle={onToggle}>
      <ToolInput input={call.input} />
      {call.result !== undefined && <ToolOutput result={call.result} />}
    </Fold>
  );
}

function firstText(result: ToolResult | undefined): string {
  const first = result?.content.find((part) => part.type === "text");
  return first?.type === "text" ? textOrJSON(first.text) : "";
}

/** How a call ended, by an icon and, where it did not go well, a word. */
function Ending({ call: { name, result }, said, awaited }: { call: Call; said: string; awaited: boolean }) {
  if (result === undefined && !awaited) {
    return isSubmission(name) ? null : <span className={styles.unanswered}>no answer</span>;
  }
  if (result === undefined) {
    return (
      <span className={styles.open} role="img" aria-label="no answer yet" title="No answer yet">
        <CircleDashed />
      </span>
    );
  }
  if (result.isError) return <Failure word="failed" />;
  if (runFailed(said)) return <Failure word="error" />;
  return (
    <span className={styles.ok} role="img" aria-label="ok" title="ok">
      <Check />
    </span>
  );
}

function Failure({ word }: { word: string }) {
  return (
    <span className={styles.failed}>
      <X aria-hidden="true" />
      {word}
    </span>
  );
}
