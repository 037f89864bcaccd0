import type { ReactNode } from "react";
import styles from "./LiveWidgets.module.css";

/** Renders a muted line of text in place of a widget or below it. */
export function Note({ children }: { children: ReactNode }) {
  return <p className={styles.note}>{children}</p>;
}
