import X from "lucide-react/icons/x";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { IconButton } from "./Button";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** Renders a modal dialog, which is open while it is mounted. Esc and the close button call onClose. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // A layout effect runs before the element is removed: only then does close return the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element?.isConnected && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className={styles.header}>
        <h2 id={heading}>{title}</h2>
        <IconButton label="Close" onClick={onClose}>
          <X />
        </IconButton>
      </header>
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}
