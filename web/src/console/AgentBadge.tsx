import Bot from "lucide-react/icons/bot";
import { describeStatus } from "../agentPanel/statusDescription";
import { useSelect } from "../store/store";
import { Badge } from "../ui/Badge";
import styles from "./TopBar.module.css";

/** Shows the agent's status as a badge. */
export function AgentBadge() {
  const status = useSelect((state) => state.agent.status);
  const over = useSelect((state) => state.verdict !== null);
  const { text, tone } = describeStatus(status, over);
  return (
    <Badge tone={tone} title={`Agent: ${text}`}>
      <Bot className={styles.icon} aria-hidden="true" />
      <span className="visually-hidden">Agent: </span>
      <span className={styles.agent}>{text.replace(/:.*| with .*/, "").toLowerCase()}</span>
    </Badge>
  );
}
