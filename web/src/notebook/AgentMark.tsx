import { Bot } from "lucide-react";
import { useSelect } from "../store/store";
import styles from "./Cell.module.css";
import { useCommands } from "./commands";
import { useDesk } from "./desk";
import { cellOf } from "./text";

/** Says that the agent has changed the cell last, and when. */
export function AgentMark({ cellId }: { cellId: string }) {
  const { touches } = useDesk();
  const live = useCommands() !== null;
  const seq = useSelect((state) => {
    const touched = cellOf(state, cellId)?.touched;
    return touched?.by === "agent" ? touched.seq : null;
  });
  if (seq === null) return null;
  const at = live ? touches.at(cellId, seq) : null;
  const when = at === null ? `entry ${seq}` : at.toLocaleTimeString([], { timeStyle: "short" });
  return (
    <span className={styles.agentMark} title={`The agent changed this cell with entry ${seq} of the trace`}>
      <Bot size={12} aria-hidden /> agent, {when}
    </span>
  );
}
