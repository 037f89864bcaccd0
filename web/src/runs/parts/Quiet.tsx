import type { ReactNode } from "react";
import styles from "./parts.module.css";

/** A line that says what there is to be said where there is nothing to see. */
export function Quiet({ children }: { children: ReactNode }) {
  return (
    <p className={styles.quiet} role="status">
      {children}
    </p>
  );
}
