import { Button } from "./Button";
import styles from "./ConfirmDialog.module.css";
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  /** What happens, and what is lost. */
  text: string;
  /** Text of the confirming button. */
  confirmLabel: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks for confirmation before something that cannot be undone. */
export function ConfirmDialog({ title, text, confirmLabel, onConfirm, onClose }: Props) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p className={styles.text}>{text}</p>
      <div className={styles.answers}>
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="accent" onClick={confirm}>
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
