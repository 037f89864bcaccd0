import { useMemo } from "react";
import { percent } from "../data/format";
import type { Attempt } from "../data/line";
import { tagRatesOf } from "../data/tally";
import { Name } from "../parts/Name";
import { countWords } from "../parts/OutcomeBar";
import { intervalWords } from "./PassRates";
import { RateBar } from "./RateBar";
import styles from "./TagRates.module.css";

/** The pass rate of each tag, with intervals. A tag leads to its attempts. */
export function TagRates({ attempts, onTag }: { attempts: readonly Attempt[]; onTag: (tag: string) => void }) {
  const rates = useMemo(() => tagRatesOf(attempts).filter(({ rate }) => rate !== null), [attempts]);
  if (rates.length === 0) return null;
  return (
    <section aria-labelledby="tags" className={styles.tags}>
      <h2 id="tags">Pass rate by tag</h2>
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
          {rates.map(({ tag, rate, counts }) => (
            <tr key={tag}>
              <th scope="row">
                <button type="button" onClick={() => onTag(tag)}>
                  <Name text={tag} />
                </button>
              </th>
              <td className={styles.number}>{percent(rate?.mean ?? null)}</td>
              <td className={styles.bar} title={intervalWords(rate)}>
                <RateBar rate={rate} />
                <span className="visually-hidden">{intervalWords(rate)}</span>
              </td>
              <td className={styles.counts}>{countWords(counts)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
