import type { ReactNode } from "react";
import styles from "./Badge.module.css";

/** The colour of a badge, by meaning. */
export type Tone = "neutral" | "accent" | "good" | "bad" | "warn" | "agent";

/** Renders a short coloured label that shows a state. */
export function Badge({ tone = "neutral", title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`} title={title}>
      {children}
    </span>
  );
}
