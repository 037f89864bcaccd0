import LoaderCircle from "lucide-react/icons/loader-circle";
import Plug from "lucide-react/icons/plug";
import Unplug from "lucide-react/icons/unplug";
import type { ConnectionState } from "../agent/sessionSnapshot";
import { Badge, type Tone } from "../ui/Badge";
import styles from "./TopBar.module.css";

const connectionAppearances: Readonly<Record<ConnectionState, { text: string; tone: Tone; Icon: typeof Plug }>> = {
  connected: { text: "connected", tone: "good", Icon: Plug },
  wsConnecting: { text: "connecting", tone: "neutral", Icon: LoaderCircle },
  disconnected: { text: "disconnected", tone: "warn", Icon: Unplug },
};

/** Shows as a badge whether the page is connected to the server. */
export function ConnectionBadge({ state }: { state: ConnectionState }) {
  const { text, tone, Icon } = connectionAppearances[state];
  return (
    <Badge tone={tone} title="Connection to the server">
      <Icon className={styles.icon} aria-hidden="true" />
      <span className={styles.connection} data-connection={state}>
        {text}
      </span>
    </Badge>
  );
}
