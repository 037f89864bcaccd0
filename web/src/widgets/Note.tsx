import type { ReactNode } from "react";
import styles from "./Widgets.module.css";

/** A quiet line in the place of a widget, or below one. */
export function Note({ children }: { children: ReactNode }) {
  return <p className={styles.note}>{children}</p>;
}
