import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import { useCommands } from "../commands/commands";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";

/**
 * A notice that the kernel does not respond, with a button to restart it. refusal: why it cannot be
 * restarted; null: it can.
 */
export function SilentKernelBar({ commandProblem }: { commandProblem: string | null }) {
  const commands = useCommands();
  return (
    <div className={`${styles.bar} ${styles.warn}`} role="alert">
      <CircleAlert aria-hidden="true" />
      <p>
        <strong>The kernel does not answer.</strong> It was told to stop, and gives no sign. It may be frozen or go on
        later. A restart ends it, with all that it holds.
      </p>
      <Button
        disabled={commandProblem !== null}
        title={commandProblem ?? undefined}
        onClick={() => commands?.restart("kernel")}
      >
        Restart kernel
      </Button>
    </div>
  );
}
