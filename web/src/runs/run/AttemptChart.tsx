import { plainName } from "../../text/displayText";
import "uplot/dist/uPlot.min.css";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useTheme } from "../../browser/theme";
import { useMedia } from "../../browser/useMedia";
import { attemptPath } from "../../routes/paths";
import type { Attempt } from "../data/attempt";
import styles from "./AttemptChart.module.css";
import { drawChart } from "./drawChart";
import { type ChartPoint, chartDescription, chartPointsOf, measures, measuresWithValues } from "./measure";

/**
 * A chart with a mark for each attempt of a run, by start time and a selectable measure. The table
 * shows the same values.
 */
export default function AttemptChart({ run, attempts }: { run: string; attempts: readonly Attempt[] }) {
  const [wanted, setWanted] = useState("duration");
  const offered = useMemo(() => measuresWithValues(attempts), [attempts]);
  const measure = offered.find((one) => one.id === wanted) ?? offered[0] ?? measures[0];
  const points = useMemo(() => (measure ? chartPointsOf(attempts, measure) : []), [attempts, measure]);
  const [at, setAt] = useState<ChartPoint | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const [, navigate] = useLocation();
  const theme = useTheme();
  const dark = useMedia("(prefers-color-scheme: dark)");
  // biome-ignore lint/correctness/useExhaustiveDependencies: redraws in the colours of a new theme
  useEffect(() => {
    const element = place.current;
    if (!element || !measure || points.length === 0) return;
    setAt(null);
    const onOpen = ({ attempt }: ChartPoint) => navigate(attemptPath(run, attempt.name));
    return drawChart(element, { points, measure, onPoint: setAt, onOpen });
  }, [points, measure, run, navigate, theme, dark]);
  if (!measure || points.length === 0) return null;
  return (
    <section aria-labelledby="chart" className={styles.chart}>
      <div className={styles.head}>
        <h2 id="chart">{measure.label} by attempt</h2>
        <select aria-label="Measure" value={measure.id} onChange={(event) => setWanted(event.target.value)}>
          {offered.map((one) => (
            <option key={one.id} value={one.id}>
              {one.label}
            </option>
          ))}
        </select>
      </div>
      <div ref={place} role="img" aria-label={chartDescription(points, measure)} className={styles.place} />
      <p className={styles.words} aria-hidden="true">
        {at === null ? (
          <ChartLegend />
        ) : (
          `${plainName(at.attempt.caseId)}: ${measure.format(at.value)}, ${at.attempt.verdict}`
        )}
      </p>
    </section>
  );
}

function ChartLegend() {
  return (
    <>
      <span className={styles.passed}>● passed</span>
      <span className={styles.failed}>✕ failed</span>
      <span className={styles.other}>○ other</span>
    </>
  );
}
