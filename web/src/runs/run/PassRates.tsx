import { formatPercent } from "../../format/format";
import type { RateWithInterval } from "../data/interval";
import type { PassRates as Rates } from "../data/tally";
import styles from "./PassRates.module.css";
import { RateBar } from "./RateBar";

/**
 * The two pass rates of a run, with infrastructure outcomes as failures and without them; shown as
 * one if they are equal.
 */
export function PassRates({ rates: { strict, excludingInfrastructure } }: { rates: Rates }) {
  if (Math.abs((strict?.mean ?? 0) - (excludingInfrastructure?.mean ?? 0)) < 1e-9) {
    return (
      <dl className={styles.rates}>
        <PassRate
          name="Pass rate"
          means="With and without failures of the infrastructure or of a grader"
          rate={strict}
        />
      </dl>
    );
  }
  return (
    <dl className={styles.rates}>
      <PassRate name="Pass rate" means="Failures of the infrastructure or of a grader count as failed" rate={strict} />
      <PassRate name="Without infrastructure" means="Such failures are left out" rate={excludingInfrastructure} />
    </dl>
  );
}

function PassRate({ name, means, rate }: { name: string; means: string; rate: RateWithInterval | null }) {
  return (
    <div className={styles.bracket}>
      <dt>{name}</dt>
      <dd>
        <strong>{formatPercent(rate?.mean ?? null, 1)}</strong>
        <span className={styles.interval} title={missingIntervalReason(rate)}>
          {intervalText(rate)}
        </span>
        <RateBar rate={rate} />
        <span className={styles.means}>{means}.</span>
      </dd>
    </div>
  );
}

/**
 * Returns the confidence interval of a rate as text, such as "95 %: 40.0 % to 60.0 %, 12 cases";
 * says so if there is no interval or no rate.
 */
export function intervalText(rate: RateWithInterval | null): string {
  if (rate === null) return "nothing graded yet";
  if (rate.interval === null) return `${rate.n} ${rate.n === 1 ? "case" : "cases"}, no interval`;
  const [low, high] = rate.interval;
  return `95 %: ${formatPercent(low, 1)} to ${formatPercent(high, 1)}, ${rate.n} cases`;
}

/** Returns why a rate has no confidence interval; undefined if it has one or there is no rate. */
export function missingIntervalReason(rate: RateWithInterval | null): string | undefined {
  if (rate === null || rate.interval !== null) return undefined;
  return rate.n === 1 ? "one case" : "no spread";
}
