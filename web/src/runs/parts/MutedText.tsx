import type { ReactNode } from "react";
import styles from "./parts.module.css";

/** A line of muted text that says why there is nothing to show. */
export function MutedText({ children }: { children: ReactNode }) {
  return (
    <p className={styles.quiet} role="status">
      {children}
    </p>
  );
}
