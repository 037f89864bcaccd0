import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./Fold.module.css";

interface Props {
  name: ReactNode;
  /** What it is about, in a line. */
  gist: string;
  /** How the gist is written; code by default. */
  look?: "code" | "prose";
  /** What stands at the end of the line, beside the button that opens it. */
  aside?: ReactNode;
  open: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** Something that is one line until it is opened. */
export function Fold({ name, gist, look = "code", aside, open, onToggle, children }: Props) {
  return (
    <div className={styles.fold}>
      <div className={styles.head}>
        <button type="button" className={styles.toggle} aria-expanded={open} onClick={onToggle}>
          <ChevronRight className={styles.arrow} aria-hidden="true" />
          <span className={styles.name}>{name}</span>
          <span className={look === "code" ? styles.gist : styles.prose}>{gist}</span>
        </button>
        {aside}
      </div>
      {open && <div className={styles.body}>{children}</div>}
    </div>
  );
}
