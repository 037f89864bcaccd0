import { ClipboardList, Eraser, RefreshCw, Square } from "lucide-react";
import { useState } from "react";
import { useCommands } from "../commands/commands";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import { Badge } from "../ui/Badge";
import { Button, IconButton } from "../ui/Button";
import { Confirm } from "../ui/Confirm";
import { useCellName } from "./cellName";
import styles from "./StatusLine.module.css";
import { openTool, type StatusWords, statusWords } from "./statusWords";

interface Props {
  connected: boolean;
  /** Why nothing can be done with the agent; null: it can. */
  refusal: string | null;
  /** Lets one attach a case; null: none can be. */
  onAttach: (() => void) | null;
}

/** What the agent does and what it waits for, and what can be done about it. */
export function StatusLine({ connected, refusal, onAttach }: Props) {
  const [asking, setAsking] = useState(false);
  const commands = useCommands();
  const status = useSelect((state) => state.agent.status);
  const over = useSelect((state) => state.verdict !== null);
  const { text, busy, tone } =
    !connected && (status === "starting" || status === "ready") ? unknown : statusWords(status, over);
  const off = refusal !== null || commands === null;
  const name = (what: string) => (refusal === null ? what : `${what}. ${refusal}`);
  return (
    <div className={styles.line}>
      <span className={styles.status} aria-live="polite">
        <Badge tone={tone}>{text}</Badge>
        <Waiting />
      </span>
      {busy && (
        <Button disabled={off} title={name("Ends what the agent works on")} onClick={() => commands?.cancel()}>
          <Square size={12} aria-hidden="true" /> Cancel
        </Button>
      )}
      {onAttach !== null && (
        <IconButton label={name("Attach a case")} disabled={off} onClick={onAttach}>
          <ClipboardList />
        </IconButton>
      )}
      <IconButton
        label={name("Clear history: the agent forgets the conversation")}
        disabled={off}
        onClick={() => setAsking(true)}
      >
        <Eraser />
      </IconButton>
      <Button
        aria-label={name("Restart agent, after editing it")}
        title={name("Restart agent, after editing it")}
        disabled={off}
        onClick={() => commands?.restart("agent")}
      >
        <RefreshCw size={12} aria-hidden="true" /> <span className={styles.words}>Restart agent</span>
      </Button>
      {asking && (
        <Confirm
          title="Clear the history"
          text="The agent forgets all that was said. The notebook stays as it is."
          action="Clear"
          onConfirm={() => commands?.clearHistory()}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

/** What it does, where it was left at rest, is not known without a connection. */
const unknown: StatusWords = { text: "Not connected", busy: false, tone: "neutral" };

/** What is waited for: a tool, or a cell. */
function Waiting() {
  const status = useSelect((state) => state.agent.status);
  const tool = useSelect((state) => (status === "executing" ? openTool(state.agent.conversation) : null));
  const cell = useSelect((state) => (status === "awaiting_cell_execution" ? runningCell(state) : null));
  const CellName = useCellName();
  if (tool !== null) return <code>{tool}</code>;
  return cell === null ? null : <CellName id={cell} />;
}

function runningCell({ notebook }: State): string | null {
  return notebook.order.find((id) => notebook.executions[id]?.started === true) ?? notebook.queue[0] ?? null;
}
