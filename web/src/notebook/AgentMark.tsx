import Bot from "lucide-react/icons/bot";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import styles from "./Cell.module.css";
import { cellOf } from "./cellSelectors";
import { useNotebookContext } from "./notebookContext";

/** Shows that the agent made the last change to a cell, and when; nothing if somebody else made it. */
export function AgentMark({ cellId }: { cellId: string }) {
  const { changeTimes } = useNotebookContext();
  const live = useCommands() !== null;
  const lastChange = useSelect((state) => cellOf(state, cellId)?.lastChange);
  if (lastChange?.by !== "agent") return null;
  const { seq } = lastChange;
  const at = lastChange.at !== undefined ? new Date(lastChange.at) : live ? changeTimes.timeOf(cellId, seq) : null;
  const when = at?.toLocaleTimeString([], { timeStyle: "short" }) ?? (live && seq > 0 ? `entry ${seq}` : null);
  const entry = seq > 0 ? ` with entry ${seq} of the trace` : "";
  return (
    <span className={styles.agentMark} title={`The agent changed this cell${entry}`}>
      <Bot size={12} aria-hidden /> {when === null ? "agent" : `agent, ${when}`}
    </span>
  );
}
