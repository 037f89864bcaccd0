import { useMemo, useState } from "react";
import { formatPercent } from "../../format/format";
import { Button } from "../../ui/Button";
import type { Attempt } from "../data/attempt";
import { tagRatesOf } from "../data/tally";
import { ForeignName } from "../parts/ForeignName";
import { attemptCountsText } from "../parts/OutcomeBar";
import { intervalText, missingIntervalReason } from "./PassRates";
import { RateBar } from "./RateBar";
import styles from "./TagRates.module.css";

/** Number of tags that are shown at first. */
const maxTags = 8;

/**
 * Pass rates of a run's attempts by tag; at first only of tags below 100 %. Clicking a tag filters
 * the attempts.
 */
export function TagRates({ attempts, onTag }: { attempts: readonly Attempt[]; onTag: (tag: string) => void }) {
  const rates = useMemo(() => tagRatesOf(attempts).filter(({ rate }) => rate !== null), [attempts]);
  const [all, setAll] = useState(false);
  if (rates.length === 0) return null;
  const shown = all ? rates : rates.filter(({ rate }) => rate !== null && rate.mean < 1).slice(0, maxTags);
  return (
    <section aria-labelledby="tags" className={styles.tags}>
      <h2 id="tags">Pass rate by tag</h2>
      {shown.length === 0 && <p className={styles.none}>All attempts of every tag passed.</p>}
      <table>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Tag</th>
            <th scope="col">Pass rate</th>
            <th scope="col">Interval</th>
            <th scope="col">Attempts</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ tag, rate, counts }) => (
            <tr key={tag}>
              <th scope="row">
                <button type="button" onClick={() => onTag(tag)}>
                  <ForeignName text={tag} />
                </button>
              </th>
              <td className={styles.number}>{formatPercent(rate?.mean ?? null)}</td>
              <td className={styles.bar} title={missingIntervalReason(rate) ?? intervalText(rate)}>
                <RateBar rate={rate} />
                <span className="visually-hidden">{intervalText(rate)}</span>
              </td>
              <td className={styles.counts}>{attemptCountsText(counts)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {(all || shown.length < rates.length) && (
        <Button variant="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${rates.length} tags`}
        </Button>
      )}
    </section>
  );
}
