import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import { useCommands } from "../commands/commands";
import { Button } from "../ui/Button";
import styles from "./Bar.module.css";

/**
 * Shows a warning that the kernel does not respond, with a button that restarts it. commandProblem says why
 * it cannot be restarted; null if it can.
 */
export function SilentKernelBar({ commandProblem }: { commandProblem: string | null }) {
  const commands = useCommands();
  return (
    <div className={`${styles.bar} ${styles.warn}`} role="alert">
      <CircleAlert aria-hidden="true" />
      <p>
        <strong>The kernel does not respond.</strong> It was asked to stop and has not reacted. It may be frozen, or
        react later. Restarting it loses all variables.
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
