import X from "lucide-react/icons/x";
import { useEffect, useRef } from "react";
import { IconButton } from "../ui/Button";
import styles from "./Picture.module.css";

/** Shows a picture in a modal dialog, as large as the window allows. Esc, a click or the close button closes it. */
export function PictureDialog({ src, alt, onClose }: { src: string; alt: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element?.isConnected && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc and the close button serve the keyboard
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-label="Picture"
      onClick={onClose}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <img src={src} alt={alt} />
      <IconButton label="Close" variant="plain" className={styles.close ?? ""} onClick={onClose}>
        <X />
      </IconButton>
    </dialog>
  );
}
