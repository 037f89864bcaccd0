import X from "lucide-react/icons/x";
import { useEffect, useState } from "react";
import { Problem } from "../api/Problem";
import { useLoad } from "../api/useLoad";
import { IconButton } from "../ui/Button";
import { delayText, shortNameText } from "./entryTexts";
import type { Filters } from "./filters";
import styles from "./StatisticsTable.module.css";
import { computeTraceStatistics } from "./statistics";

interface Props {
  base: string;
  filters: Filters;
  onClose: () => void;
}

const statisticsColumns = ["Kind", "Action", "Count", "Median", "99 %", "Longest", "Timed out", "Failed", "Unanswered"];

/** A table of request durations by kind and action, computed from the whole trace when it is opened. */
export function StatisticsTable({ base, filters, onClose }: Props) {
  const [done, setDone] = useState(0);
  const key = `${base} ${JSON.stringify(filters)}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: resets when a new trace or filter is loaded
  useEffect(() => setDone(0), [key]);
  const { data, error, reload } = useLoad(key, (signal) => computeTraceStatistics(base, filters, setDone, signal));
  return (
    <section className={styles.statistics} aria-label="Statistics">
      <IconButton label="Close statistics" className={styles.close ?? ""} onClick={onClose}>
        <X />
      </IconButton>
      {error !== null && <Problem what="The statistics could not be computed" error={error} onRetry={reload} />}
      {data === null && error === null && (
        <p className={styles.empty}>
          Reading the trace… <progress value={done} aria-label="Progress" />
        </p>
      )}
      {data?.length === 0 && <p className={styles.empty}>No requests.</p>}
      {data !== null && data.length > 0 && (
        <div className={styles.scroll}>
          <table>
            <thead>
              <tr>
                {statisticsColumns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.map((line) => (
                <tr key={`${line.kind} ${line.action}`}>
                  <td>{shortNameText(line.kind)}</td>
                  <th scope="row">{shortNameText(line.action)}</th>
                  <td>{line.count.toLocaleString("en")}</td>
                  <td>{delayText(line.p50)}</td>
                  <td>{delayText(line.p99)}</td>
                  <td>{delayText(line.max)}</td>
                  <td className={line.timedOut > 0 ? styles.bad : ""}>{line.timedOut}</td>
                  <td className={line.failed > 0 ? styles.bad : ""}>{line.failed}</td>
                  <td>{line.unanswered}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
