import type { ReactNode } from "react";
import styles from "./parts.module.css";

/** A muted line of text where there is nothing else to show. */
export function MutedText({ children }: { children: ReactNode }) {
  return (
    <p className={styles.quiet} role="status">
      {children}
    </p>
  );
}
