import { formatPercent } from "../../format/format";
import type { RateWithInterval } from "../data/interval";
import type { AttemptCounts, PassRates as Rates } from "../data/tally";
import styles from "./PassRates.module.css";
import { RateBar } from "./RateBar";

interface Props {
  rates: Rates;
  /** The run's attempts by verdict. */
  counts: AttemptCounts;
}

/**
 * The two pass rates of a run, with infrastructure outcomes as failures and without them; shown as
 * one if they are equal or there is none.
 */
export function PassRates({ rates: { strict, excludingInfrastructure }, counts }: Props) {
  if (Math.abs((strict?.mean ?? 0) - (excludingInfrastructure?.mean ?? 0)) < 1e-9) {
    return (
      <dl className={styles.rates}>
        <PassRate name="Pass rate" means={oneRateText(strict, counts)} rate={strict} />
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

/** Returns why a run has only one rate, or none. */
function oneRateText(rate: RateWithInterval | null, counts: AttemptCounts): string {
  const lost = counts.infrastructure + counts.grading_error;
  if (rate !== null && lost === 0) return "No attempt was lost to a failure of the infrastructure or of a grader";
  if (rate !== null) return "The same with and without attempts lost to a failure of the infrastructure or of a grader";
  return lost > 0 ? "No attempt has a verdict: the outcomes say why" : "No attempt has a verdict";
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
  if (rate === null) return "nothing was graded";
  if (rate.interval === null) return `${rate.n} ${rate.n === 1 ? "case" : "cases"}, no interval`;
  const [low, high] = rate.interval;
  return `95 %: ${formatPercent(low, 1)} to ${formatPercent(high, 1)}, ${rate.n} cases`;
}

/** Returns why a rate has no confidence interval; undefined if it has one or there is no rate. */
export function missingIntervalReason(rate: RateWithInterval | null): string | undefined {
  if (rate === null || rate.interval !== null) return undefined;
  return rate.n === 1 ? "one case" : "no spread";
}
