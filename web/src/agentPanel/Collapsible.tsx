import ChevronRight from "lucide-react/icons/chevron-right";
import type { ReactNode } from "react";
import styles from "./Collapsible.module.css";

interface Props {
  name: ReactNode;
  /** A one-line summary of the content. */
  summary: string;
  /** How the summary is set: as code (default) or as prose. */
  summaryStyle?: "code" | "prose";
  /** Shown at the end of the header line, outside its button. */
  trailing?: ReactNode;
  open: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** A section with a one-line header. The content is rendered only while it is open. */
export function Collapsible({ name, summary, summaryStyle = "code", trailing, open, onToggle, children }: Props) {
  return (
    <div className={styles.fold}>
      <div className={styles.head}>
        <button type="button" className={styles.toggle} aria-expanded={open} onClick={onToggle}>
          <ChevronRight className={styles.arrow} aria-hidden="true" />
          <span className={styles.name}>{name}</span>
          <span className={summaryStyle === "code" ? styles.gist : styles.prose}>{summary}</span>
        </button>
        {trailing}
      </div>
      {open && <div className={styles.body}>{children}</div>}
    </div>
  );
}
