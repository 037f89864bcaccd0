import type { ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "neutral" | "accent" | "good" | "bad" | "warn" | "agent";

/** A word or two about a state. */
export function Badge({ tone = "neutral", title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`} title={title}>
      {children}
    </span>
  );
}
