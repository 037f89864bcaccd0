import Check from "lucide-react/icons/check";
import CircleDashed from "lucide-react/icons/circle-dashed";
import X from "lucide-react/icons/x";
import { textOrJSON } from "../json/values";
import type { ConversationItem, ToolResult } from "../store/state";
import { Collapsible } from "./Collapsible";
import { useCellNameComponent } from "./cellName";
import styles from "./ToolCall.module.css";
import { ToolInput } from "./ToolInput";
import { ToolOutput } from "./ToolOutput";
import { cellIdsOfToolCall, cellRunFailed, toolInputSummary } from "./toolCalls";
import { isSubmissionTool, toolName } from "./toolName";

export type ToolCallItem = Extract<ConversationItem, { kind: "tool" }>;

interface Props {
  call: ToolCallItem;
  /** Whether a result may still come if there is none. */
  awaited: boolean;
  open: boolean;
  onToggle: () => void;
}

/** Shows a tool call as one line with name, summary, cells and status. Opens to show input and result. */
export function ToolCall({ call, awaited, open, onToggle }: Props) {
  const CellName = useCellNameComponent();
  const resultText = firstResultText(call.result);
  const trailing = (
    <span className={styles.aside}>
      {cellIdsOfToolCall(call.input, resultText).map((id) => (
        <CellName key={id} id={id} />
      ))}
      <ToolCallStatus call={call} said={resultText} awaited={awaited} />
    </span>
  );
  return (
    <Collapsible
      name={toolName(call.name)}
      summary={toolInputSummary(call.input)}
      trailing={trailing}
      open={open}
      onToggle={onToggle}
    >
      <ToolInput input={call.input} />
      {call.result !== undefined && <ToolOutput result={call.result} />}
    </Collapsible>
  );
}

function firstResultText(result: ToolResult | undefined): string {
  const first = result?.content.find((part) => part.type === "text");
  return first?.type === "text" ? textOrJSON(first.text) : "";
}

/** An icon for the call's status, with a word unless it succeeded. */
function ToolCallStatus({
  call: { name, result },
  said,
  awaited,
}: {
  call: ToolCallItem;
  said: string;
  awaited: boolean;
}) {
  if (result === undefined && !awaited) {
    return isSubmissionTool(name) ? null : <span className={styles.unanswered}>no result</span>;
  }
  if (result === undefined) {
    return (
      <span className={styles.open} role="img" aria-label="no result yet" title="No result yet">
        <CircleDashed />
      </span>
    );
  }
  if (result.isError) return <FailedCallLabel word="failed" />;
  if (cellRunFailed(said)) return <FailedCallLabel word="error" />;
  return (
    <span className={styles.ok} role="img" aria-label="ok" title="ok">
      <Check />
    </span>
  );
}

function FailedCallLabel({ word }: { word: string }) {
  return (
    <span className={styles.failed}>
      <X aria-hidden="true" />
      {word}
    </span>
  );
}
