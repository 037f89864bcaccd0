import { useEffect, useRef } from "react";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import styles from "./Notebook.module.css";
import { useNotebookContext } from "./notebookContext";

/** Asks for confirmation before it restarts the kernel. */
export function RestartDialog() {
  const context = useNotebookContext();
  const buttons = useRef<HTMLDivElement>(null);
  // Runs after Dialog has focused its first control.
  useEffect(() => buttons.current?.querySelector("button")?.focus(), []);
  const close = () => context.view.set({ dialog: null });
  const restart = () => {
    close();
    context.commands()?.restart("kernel");
  };
  return (
    <Dialog title="Restart the kernel" onClose={close}>
      <p className={styles.question}>All variables are lost and running cells are stopped. The cells stay.</p>
      <div ref={buttons} className={styles.add}>
        <Button variant="accent" onClick={restart}>
          Restart
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </Dialog>
  );
}
