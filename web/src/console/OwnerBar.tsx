import Eye from "lucide-react/icons/eye";
import { useState } from "react";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";

/** A notice that another console owns the session. It can be dismissed. */
export function OwnerBar({ live: { isOwner, connection } }: { live: SessionSnapshot }) {
  const [read, setRead] = useState(false);
  if (isOwner || read || connection.state !== "connected") return null;
  return (
    <div className={styles.bar} role="status">
      <Eye aria-hidden="true" />
      <p>
        <strong>Another console owns this session.</strong> It alone runs cells and talks to the agent. When it goes,
        the next one takes over.
      </p>
      <Button onClick={() => setRead(true)}>I see</Button>
    </div>
  );
}
