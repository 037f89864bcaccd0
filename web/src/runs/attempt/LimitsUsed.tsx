import { formatBytes, formatCost, formatCount, formatDuration, impossibleText } from "../../format/format";
import type { AttemptLine } from "../../protocol/api.gen";
import type { RunLimits } from "../../protocol/session.gen";
import { tokensOf } from "../data/line";
import styles from "./Overview.module.css";

interface Limit {
  name: string;
  limit: number;
  /** null: nobody has measured it. */
  used: number | null;
  words: (value: number | null) => string;
}

/** The limits of an attempt beside what it has used. */
export function LimitsUsed({ line }: { line: AttemptLine }) {
  const limits = limitsOf(line);
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
          {limits.map(({ name, limit, used, words }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={styles.number}>{words(used)}</td>
              <td className={styles.number}>{limit === 0 ? "no limit" : words(limit)}</td>
              <td>
                {used !== null && limit > 0 && words(used) !== impossibleText && (
                  <meter aria-label={`Share of ${name}`} value={Math.min(used, limit)} max={limit} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Those that the line names, in the order of the documentation. */
function limitsOf(line: AttemptLine): Limit[] {
  const { limits = {}, usage = {} } = line;
  const seconds = (s: number | null) => formatDuration(s === null ? null : s * 1000);
  const work = line.phases?.work_ms;
  const all: [keyof RunLimits, string, number | null, Limit["words"]][] = [
    ["wall_s", "Wall time", work === undefined ? null : work / 1000, seconds],
    ["idle_s", "Idle time", null, seconds],
    ["cell_s", "Time of a cell", null, seconds],
    ["turns", "Turns", usage.model_calls ?? null, formatCount],
    ["actions", "Actions", usage.actions ?? null, formatCount],
    ["tokens", "Tokens", tokensOf(usage), formatCount],
    ["cost_usd", "Cost", usage.cost_usd ?? null, formatCost],
    ["disk_bytes", "Disk", null, formatBytes],
  ];
  return all.flatMap(([id, name, used, words]) => {
    const limit = limits[id];
    return limit === undefined ? [] : [{ name, limit, used, words }];
  });
}
