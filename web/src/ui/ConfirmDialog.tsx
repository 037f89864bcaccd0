import { Button } from "./Button";
import styles from "./ConfirmDialog.module.css";
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  /** Explains what will happen and what will be lost. */
  text: string;
  /** Text of the confirming button. */
  confirmLabel: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Shows a dialog that asks for confirmation. Confirming calls onClose, then onConfirm; Cancel and Esc call only onClose. */
export function ConfirmDialog({ title, text, confirmLabel, onConfirm, onClose }: Props) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p className={styles.text}>{text}</p>
      <div className={styles.buttons}>
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="accent" onClick={confirm}>
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
