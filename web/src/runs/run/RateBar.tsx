import type { RateWithInterval } from "../data/interval";
import styles from "./PassRates.module.css";

/**
 * A rate and its confidence interval, drawn on a scale from 0 to 1. Hidden from screen readers: the
 * text beside it has the same numbers.
 */
export function RateBar({ rate }: { rate: RateWithInterval | null }) {
  const [low, high] = rate?.interval ?? [rate?.mean ?? 0, rate?.mean ?? 0];
  return (
    <svg className={styles.line} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <line className={styles.axis} x1="0" x2="100" y1="5" y2="5" />
      {rate && <line className={styles.range} x1={low * 100} x2={high * 100} y1="5" y2="5" />}
      {rate && <line className={styles.mean} x1={rate.mean * 100} x2={rate.mean * 100} y1="1" y2="9" />}
    </svg>
  );
}
