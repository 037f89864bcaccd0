import Info from "lucide-react/icons/info";
import TriangleAlert from "lucide-react/icons/triangle-exclamation-point";
import X from "lucide-react/icons/x";
import type { Notice } from "../agent/sessionSnapshot";
import { Button, IconButton } from "../ui/Button";
import styles from "./Notices.module.css";

interface Props {
  notices: readonly Notice[];
  onDismiss: (id: number) => void;
}

/** How many notices are shown; older ones are only counted. */
const maxShownNotices = 3;

/** Shows the newest notices. Each stays until the user dismisses it. */
export function Notices({ notices, onDismiss }: Props) {
  const older = notices.length - maxShownNotices;
  const dismissAll = () => {
    for (const { id } of notices) onDismiss(id);
  };
  return (
    <section className={styles.notices} aria-label="Notices" aria-live="polite">
      {older > 0 && (
        <Button className={styles.all ?? ""} onClick={dismissAll}>
          {older} older, dismiss all
        </Button>
      )}
      {notices.slice(-maxShownNotices).map(({ id, kind, text, action }) => (
        <div key={id} className={styles.notice}>
          {kind === "error" ? (
            <TriangleAlert className={styles.error} role="img" aria-label="Error" />
          ) : (
            <Info className={styles.info} role="img" aria-label="Note" />
          )}
          <p>{text.slice(0, 1000)}</p>
          {action !== undefined && (
            <Button
              onClick={() => {
                action.run();
                onDismiss(id);
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton label="Dismiss" onClick={() => onDismiss(id)}>
            <X />
          </IconButton>
        </div>
      ))}
    </section>
  );
}
