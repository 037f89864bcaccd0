import Unplug from "lucide-react/icons/unplug";
import type { Connection, ConsoleRole } from "../agent/sessionSnapshot";
import { Button } from "../ui/Button";
import { secondsUntil, useNow } from "../ui/useNow";
import styles from "./Bar.module.css";
import { connectionText, type RecoveryAction } from "./connectionText";

/** Explains why there is no connection to the server and offers an action. Renders nothing if there is one, or if the first one is being opened. */
export function ConnectionBar({ connection, role }: { connection: Connection; role: ConsoleRole }) {
  const words = connectionText(connection, role);
  if (words === null) return null;
  return (
    <div className={`${styles.bar} ${styles.warn}`} role="status">
      <Unplug aria-hidden="true" />
      <p>
        <strong>{words.heading}</strong> {words.details}
      </p>
      <RetryCountdown connection={connection} />
      {words.recoveryAction !== null && <RecoveryButton way={words.recoveryAction} connection={connection} />}
    </div>
  );
}

/** Shows the seconds until the next connection attempt. Hidden from screen readers, which would announce each second. */
function RetryCountdown({ connection: { state, retryAt } }: { connection: Connection }) {
  const waits = state === "disconnected" && retryAt !== null;
  const now = useNow(waits);
  if (state === "wsConnecting") return <span className={styles.next}>Trying…</span>;
  if (retryAt === null) return null;
  return (
    <span className={styles.next} aria-hidden="true">
      Next try in {secondsUntil(retryAt, now)} s
    </span>
  );
}

/** Renders the button or link that recovers the connection. */
function RecoveryButton({ way, connection }: { way: RecoveryAction; connection: Connection }) {
  return (
    <>
      {way === "view" && (
        <a className={styles.link} href={viewAddress(location.href)}>
          Open it as a view
        </a>
      )}
      {way !== "view" && (
        <Button disabled={connection.state === "wsConnecting"} onClick={connection.retry}>
          {way === "here" ? "Use it here" : "Try now"}
        </Button>
      )}
    </>
  );
}

/** Returns the page's address with the role of a view. */
export function viewAddress(address: string): string {
  const url = new URL(address);
  url.searchParams.set("role", "view");
  return `${url.pathname}${url.search}`;
}
