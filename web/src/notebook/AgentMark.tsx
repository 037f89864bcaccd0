import Bot from "lucide-react/icons/bot";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import styles from "./Cell.module.css";
import { useDesk } from "./desk";
import { cellOf } from "./text";

/** Says that the agent has changed the cell last, and when. */
export function AgentMark({ cellId }: { cellId: string }) {
  const { touches } = useDesk();
  const live = useCommands() !== null;
  const touched = useSelect((state) => cellOf(state, cellId)?.touched);
  if (touched?.by !== "agent") return null;
  const { seq } = touched;
  const at = touched.at !== undefined ? new Date(touched.at) : live ? touches.at(cellId, seq) : null;
  const when = at?.toLocaleTimeString([], { timeStyle: "short" }) ?? (live && seq > 0 ? `entry ${seq}` : null);
  const entry = seq > 0 ? ` with entry ${seq} of the trace` : "";
  return (
    <span className={styles.agentMark} title={`The agent changed this cell${entry}`}>
      <Bot size={12} aria-hidden /> {when === null ? "agent" : `agent, ${when}`}
    </span>
  );
}
