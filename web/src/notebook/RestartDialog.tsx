import { useEffect, useRef } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useDesk } from "./desk";
import styles from "./Notebook.module.css";

/** Asks before the kernel is restarted. */
export function RestartDialog() {
  const desk = useDesk();
  const buttons = useRef<HTMLDivElement>(null);
  // After the dialog has put the focus on its first control.
  useEffect(() => buttons.current?.querySelector("button")?.focus(), []);
  const close = () => desk.view.set({ dialog: null });
  const restart = () => {
    close();
    desk.commands()?.restart("kernel");
  };
  return (
    <Dialog title="Restart the kernel" onClose={close}>
      <p className={styles.question}>All variables are lost, and what runs is stopped. The cells stay.</p>
      <div ref={buttons} className={styles.add}>
        <Button variant="accent" onClick={restart}>
          Restart
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </Dialog>
  );
}
