import ClipboardList from "lucide-react/icons/clipboard-list";
import Eraser from "lucide-react/icons/eraser";
import RefreshCw from "lucide-react/icons/refresh-cw";
import Square from "lucide-react/icons/square";
import { useState } from "react";
import { useCommands } from "../commands/commands";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import { Badge } from "../ui/Badge";
import { Button, IconButton } from "../ui/Button";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { useCellNameComponent } from "./cellName";
import styles from "./StatusLine.module.css";
import { describeStatus, nameOfOpenToolCall, type StatusDescription } from "./statusDescription";

interface Props {
  connected: boolean;
  /** Why the agent cannot be used; null if it can. */
  refusal: string | null;
  /** Opens the dialog that attaches a case; null if none can be attached. */
  onAttach: (() => void) | null;
}

/** The agent's status, what it waits for, and the buttons that act on the agent. */
export function StatusLine({ connected, refusal, onAttach }: Props) {
  const [isConfirming, setIsConfirming] = useState(false);
  const commands = useCommands();
  const status = useSelect((state) => state.agent.status);
  const attemptOver = useSelect((state) => state.verdict !== null);
  const { text, busy, tone } =
    !connected && (status === "starting" || status === "ready")
      ? notConnectedDescription
      : describeStatus(status, attemptOver);
  const disabled = refusal !== null || commands === null;
  const labelOf = (action: string) => (refusal === null ? action : `${action}. ${refusal}`);
  return (
    <div className={styles.line}>
      <span className={styles.status} aria-live="polite">
        <Badge tone={tone}>{text}</Badge>
        <AgentPendingWork />
      </span>
      {busy && (
        <Button
          disabled={disabled}
          title={labelOf("Stops the agent's current task")}
          onClick={() => commands?.cancel()}
        >
          <Square size={12} aria-hidden="true" /> Cancel
        </Button>
      )}
      {onAttach !== null && (
        <IconButton label={labelOf("Attach a case")} disabled={disabled} onClick={onAttach}>
          <ClipboardList />
        </IconButton>
      )}
      <IconButton
        label={labelOf("Clear history: the agent forgets the conversation")}
        disabled={disabled}
        onClick={() => setIsConfirming(true)}
      >
        <Eraser />
      </IconButton>
      <Button
        aria-label={labelOf("Restart agent (loads its edited code)")}
        title={labelOf("Restart agent (loads its edited code)")}
        disabled={disabled}
        onClick={() => commands?.restart("agent")}
      >
        <RefreshCw size={12} aria-hidden="true" /> <span className={styles.words}>Restart agent</span>
      </Button>
      {isConfirming && (
        <ConfirmDialog
          title="Clear the history"
          text="The agent forgets the whole conversation. The notebook does not change."
          confirmLabel="Clear"
          onConfirm={() => commands?.clearHistory()}
          onClose={() => setIsConfirming(false)}
        />
      )}
    </div>
  );
}

/** Shown instead of "idle" while the page is disconnected, because the agent's status may have changed. */
const notConnectedDescription: StatusDescription = { text: "Not connected", busy: false, tone: "neutral" };

/** Shows what the agent is waiting for: a tool call or the run of a cell. */
function AgentPendingWork() {
  const status = useSelect((state) => state.agent.status);
  const tool = useSelect((state) => (status === "executing" ? nameOfOpenToolCall(state.agent.conversation) : null));
  const cell = useSelect((state) => (status === "awaiting_cell_execution" ? runningOrQueuedCellId(state) : null));
  const CellName = useCellNameComponent();
  if (tool !== null) return <code>{tool}</code>;
  return cell === null ? null : <CellName id={cell} />;
}

function runningOrQueuedCellId({ notebook }: State): string | null {
  return notebook.order.find((id) => notebook.executions[id]?.started === true) ?? notebook.queue[0] ?? null;
}
