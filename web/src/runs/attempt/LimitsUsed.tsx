import { formatBytes, formatCost, formatCount, formatDuration, outOfRangeText } from "../../format/format";
import type { AttemptLine } from "../../protocol/api.gen";
import type { RunLimits } from "../../protocol/session.gen";
import { tokenSumOf } from "../data/attempt";
import styles from "./Overview.module.css";

/** Said of a limit of which more was used: what is measured afterwards, such as the cost of a call, can exceed it. */
const exceeded = "more than the limit: the last call went beyond it";

interface UsedLimit {
  name: string;
  limit: number;
  /** null: not measured. */
  used: number | null;
  format: (value: number | null) => string;
}

/** The limits of an attempt and how much of each it has used. */
export function LimitsUsed({ line }: { line: AttemptLine }) {
  const limits = usedLimitsOf(line);
  if (limits.length === 0) return null;
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col" className={styles.number}>
              Used
            </th>
            <th scope="col" className={styles.number}>
              Of
            </th>
            <th scope="col">
              <span className="visually-hidden">Share</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {limits.map(({ name, limit, used, format }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={styles.number}>{format(used)}</td>
              <td className={styles.number}>{limit === 0 ? "no limit" : format(limit)}</td>
              <td>
                {used !== null && limit > 0 && format(used) !== outOfRangeText && (
                  <meter
                    aria-label={`Share of ${name}`}
                    value={Math.min(used, limit)}
                    max={limit}
                    {...(used > limit && { low: limit / 2, high: limit * 0.9, optimum: 0, title: exceeded })}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/**
 * Returns the limits in an attempt's line in the order of the documentation, each with what was
 * used of it.
 */
function usedLimitsOf(line: AttemptLine): UsedLimit[] {
  const { limits = {}, usage = {} } = line;
  const seconds = (s: number | null) => formatDuration(s === null ? null : s * 1000);
  const work = line.phases?.work_ms;
  const all: [keyof RunLimits, string, number | null, UsedLimit["format"]][] = [
    ["wall_s", "Wall time", work === undefined ? null : work / 1000, seconds],
    ["idle_s", "Idle time", null, seconds],
    ["cell_s", "Time of a cell", null, seconds],
    ["turns", "Turns", usage.model_calls ?? null, formatCount],
    ["actions", "Actions", usage.actions ?? null, formatCount],
    ["tokens", "Tokens", tokenSumOf(usage), formatCount],
    ["cost_usd", "Cost", usage.cost_usd ?? null, formatCost],
    ["disk_bytes", "Disk", null, formatBytes],
  ];
  return all.flatMap(([id, name, used, words]) => {
    const limit = limits[id];
    return limit === undefined ? [] : [{ name, limit, used, format: words }];
  });
}
