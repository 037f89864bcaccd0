import Eye from "lucide-react/icons/eye";
import { useState } from "react";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";

/** Shows a notice, which can be dismissed, if another console owns the session. */
export function OwnerBar({ live: { isOwner, connection } }: { live: SessionSnapshot }) {
  const [read, setRead] = useState(false);
  if (isOwner || read || connection.state !== "connected") return null;
  return (
    <div className={styles.bar} role="status">
      <Eye aria-hidden="true" />
      <p>
        <strong>Another console owns this session.</strong> Only that console can run cells and prompt the agent. When
        it is closed, the next console takes over.
      </p>
      <Button onClick={() => setRead(true)}>Dismiss</Button>
    </div>
  );
}
